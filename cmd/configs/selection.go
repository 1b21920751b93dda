package configs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/internal/cli"
	"kf/internal/online"
)

var errNothingNamed = errors.New("name what it is about, such as: topic orders, broker 1, broker-defaults, user alice")

// A selection collects from the command line which entities are meant, in words of
// ours (topic orders, topic:orders) or in the flags of kafka-configs.
type selection struct {
	regex string // of names of the type that is named

	types []*kind  // --entity-type
	names []string // --entity-name, "" for --entity-default, in their order
	short []typed  // --topic and the like
}

// typed is one of the short flags.
type typed struct {
	kind *kind
	name string // "" for the defaults
}

// flags adds the flags to cmd. Help does not list those of kafka-configs, which are
// many and say nothing that arguments do not.
func (s *selection) flags(cmd *cobra.Command, conn *online.Connection) {
	flags := cmd.Flags()
	flags.StringVar(&s.regex, "regex", "", "of the type that is named those whose whole name matches this regular `expression`")
	cli.NoFiles(cmd, "regex")
	// given is what an empty name must not be taken for: the defaults.
	given := func(name string) error {
		if name == "" {
			return errors.New("the name is empty")
		}
		return nil
	}
	add := func(name, usage, value string, set func(string) error) {
		flags.Var(flagFunc{set, value}, name, usage)
	}
	for _, k := range kinds {
		add(k.name, "as the arguments "+k.name+" `name`", "name", func(name string) error {
			s.short = append(s.short, typed{k, name})
			return given(name)
		})
		if k.defaults {
			add(k.name+"-defaults", "as the argument "+k.name+"-defaults", "bool", func(string) error {
				s.short = append(s.short, typed{kind: k})
				return nil
			})
			flags.Lookup(k.name + "-defaults").NoOptDefVal = "true"
		}
	}
	add("entity-type", "the `type`, as in kafka-configs: topics, brokers, …", "type", func(name string) error {
		k, _, ok := kindNamed(name)
		if !ok {
			return fmt.Errorf("must be one of %s", strings.Join(plurals(), ", "))
		}
		s.types = append(s.types, k)
		return nil
	})
	add("entity-name", "a `name` of the --entity-type before it", "name", func(name string) error {
		s.names = append(s.names, name)
		return given(name)
	})
	add("entity-default", "the defaults of the --entity-type before it", "bool", func(string) error {
		s.names = append(s.names, "")
		return nil
	})
	flags.Lookup("entity-default").NoOptDefVal = "true"
	cmd.ValidArgsFunction = completeEntities(conn)
	for _, k := range kinds {
		_ = cmd.RegisterFlagCompletionFunc(k.name, completeNames(conn, k, nil, ""))
	}
	_ = cmd.RegisterFlagCompletionFunc("entity-type", cli.Complete(plurals()...))
	_ = cmd.RegisterFlagCompletionFunc("entity-name", func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(s.types) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeNames(conn, s.types[len(s.types)-1], nil, "")(cmd, args, typed)
	})
	for _, name := range append(kindNames(), "entity-type", "entity-name", "entity-default") {
		_ = flags.MarkHidden(name) // like the above, it fails only for a flag that is not there
	}
}

func plurals() []string {
	var all []string
	for _, k := range kinds {
		all = append(all, k.plural)
	}
	return all
}

// A flagFunc is a flag whose values are collected in the order of the command line.
type flagFunc struct {
	set   func(string) error
	value string
}

var _ pflag.Value = flagFunc{}

func (f flagFunc) Set(s string) error { return f.set(s) }
func (f flagFunc) String() string     { return "" }
func (f flagFunc) Type() string       { return f.value }

// selectors returns what was selected.
func (s *selection) selectors(args []string) ([]selector, error) {
	all, err := s.named(args)
	if err != nil || s.regex == "" {
		return all, err
	}
	// Its error names what was typed.
	if _, err := regexp.Compile(s.regex); err != nil {
		return nil, fmt.Errorf("--regex: %w", err)
	}
	if len(all) != 1 || !all[0].names.any || all[0].pair {
		return nil, errors.New("--regex goes with one type and no name, such as: topic --regex 'orders-.*'")
	}
	all[0].names = match{re: regexp.MustCompile("^(?:" + s.regex + ")$")}
	return all, nil
}

// named returns what was named.
func (s *selection) named(args []string) ([]selector, error) {
	switch {
	case len(args) > 0 && len(s.short)+len(s.types)+len(s.names) > 0:
		return nil, errors.New("entities are named by arguments or by flags, not by both")
	case len(s.short) > 0 && len(s.types)+len(s.names) > 0:
		return nil, errors.New("--entity-type, --entity-name and --entity-default do not go with flags such as --topic")
	case len(args) > 0:
		return ofArgs(args)
	case len(s.short) > 0:
		return s.ofShort()
	case len(s.types) > 0:
		return s.ofTypes()
	case len(s.names) > 0:
		return nil, errors.New("--entity-name and --entity-default need --entity-type")
	}
	return nil, nil
}

// ofArgs reads "topic orders payments", or entities such as topic:orders.
func ofArgs(args []string) ([]selector, error) {
	k, defaults, ok := kindNamed(args[0])
	var all []selector
	switch {
	case ok && defaults && len(args) > 1:
		return nil, fmt.Errorf("%s has no name: unexpected argument %q", args[0], args[1])
	case ok && len(args) > 1:
		for _, name := range args[1:] {
			m, err := parseName(k, name)
			if err != nil {
				return nil, err
			}
			all = append(all, selector{kind: k, names: m})
		}
		return all, nil
	}
	for _, arg := range args {
		one, err := parseSelector(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// ofShort reads --topic orders, or --user alice --client app, which is one entity.
func (s *selection) ofShort() ([]selector, error) {
	of := make(map[*kind][]match)
	for _, t := range s.short {
		m, err := match{}, error(nil)
		if t.name != "" {
			m, err = parseName(t.kind, t.name)
		}
		if err != nil {
			return nil, err
		}
		of[t.kind] = append(of[t.kind], m)
	}
	users, clients := of[userKind], of[clientKind]
	pair := len(users) > 0 && len(clients) > 0
	if len(of) > 1 && (!pair || len(of) > 2) {
		return nil, errors.New("only --user and --client go together")
	}
	var all []selector
	for _, k := range kinds {
		for _, m := range of[k] {
			if !pair {
				all = append(all, selector{kind: k, names: m})
			}
		}
	}
	for _, user := range users {
		for _, c := range clients {
			all = append(all, selector{userKind, user, true, c})
		}
	}
	return all, nil
}

// ofTypes reads --entity-type topics --entity-name orders, or the two of users and
// clients.
func (s *selection) ofTypes() ([]selector, error) {
	names := make([]match, len(s.names))
	for i, name := range s.names {
		k := s.types[min(i, len(s.types)-1)]
		if name == "" && !k.defaults {
			return nil, fmt.Errorf("%s have no defaults: --entity-default is for %s", k.plural, strings.Join(withDefaults(), ", "))
		}
		if name != "" {
			var err error
			if names[i], err = parseName(k, name); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(s.types) == 1 && len(names) == 0:
		return []selector{{kind: s.types[0], names: match{any: true}}}, nil
	case len(s.types) == 1:
		var all []selector
		for _, m := range names {
			all = append(all, selector{kind: s.types[0], names: m})
		}
		return all, nil
	case len(s.types) > 2 || !slices.Contains(s.types, userKind) || !slices.Contains(s.types, clientKind):
		return nil, errors.New("only the entity types users and clients go together")
	case len(names) > 2:
		return nil, errors.New("users and clients have one --entity-name each")
	}
	for len(names) < 2 {
		names = append(names, match{any: true})
	}
	if s.types[0] == clientKind {
		slices.Reverse(names)
	}
	return []selector{{userKind, names[0], true, names[1]}}, nil
}

func withDefaults() []string {
	var all []string
	for _, k := range kinds {
		if k.defaults {
			all = append(all, k.plural)
		}
	}
	return all
}
