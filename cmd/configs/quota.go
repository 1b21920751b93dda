package configs

// quotaEntries returns the quotas and credentials of an entity, and if all is asked
// for the quotas that it inherits.
func (r *reader) quotaEntries(e Entity) []entry {
	var all []entry
	found := make(map[string]bool)
	for _, from := range inherited(e, r.all) {
		for _, q := range r.quotas[from] {
			value := number(q.Value)
			syn := synonym{from.String(), q.Key, &value}
			if found[q.Key] {
				for i := range all {
					if all[i].key == q.Key {
						all[i].synonyms = append(all[i].synonyms, syn)
					}
				}
				continue
			}
			found[q.Key] = true
			all = append(all, entry{
				key: q.Key, value: &value, source: from.String(), typ: "DOUBLE", set: from == e,
				synonyms: synonyms{syn}, doc: quotaDoc(e.kind, q.Key),
			})
		}
	}
	for _, q := range e.kind.quotaKeys() {
		if r.all && !found[q.name] {
			all = append(all, entry{key: q.name, source: unlimited, typ: "DOUBLE", doc: &q.doc})
		}
	}
	if e.kind == userKind && !e.pair {
		for _, c := range r.scram[e.name] {
			all = append(all, scramEntry(e, c))
		}
	}
	sortEntries(all)
	return all
}

// unlimited is the source of a quota that nobody has set.
const unlimited = "DEFAULT_CONFIG"

// inherited returns the entities whose quotas hold for connections of e, the one that
// wins first; only e itself unless all is asked for.
//
// Source: Kafka 4.4.0, ClientQuotaManager.java.
func inherited(e Entity, all bool) []Entity {
	if !all {
		return []Entity{e}
	}
	var from []Entity
	add := func(next Entity) {
		for _, have := range from {
			if have == next {
				return
			}
		}
		from = append(from, next)
	}
	if !e.pair {
		add(e)
		add(Entity{kind: e.kind})
		return from
	}
	for _, user := range []string{e.name, ""} {
		add(Entity{userKind, user, true, e.client})
		add(Entity{userKind, user, true, ""})
		add(Entity{kind: userKind, name: user})
	}
	add(Entity{kind: clientKind, name: e.client})
	add(Entity{kind: clientKind})
	return from
}
