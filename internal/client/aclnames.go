package client

import (
	"fmt"
	"slices"
	"strings"
)

// What an ACL is made of, by Kafka's names. The values are the protocol's. An unknown
// one is one that is newer than kf.
//
// Source: Kafka 4.4.0, ResourceType.java, PatternType.java, AclOperation.java and
// AclPermissionType.java.
type (
	ACLResource   int8
	ACLPattern    int8
	ACLOperation  int8
	ACLPermission int8
)

// The values with a meaning of their own; Any is for filters.
const (
	AnyResource       ACLResource = 1
	TopicResource     ACLResource = 2
	GroupResource     ACLResource = 3
	ClusterResource   ACLResource = 4
	TxnResource       ACLResource = 5 // a transactional id
	TokenResource     ACLResource = 6 // a delegation token
	PrincipalResource ACLResource = 7

	AnyPattern      ACLPattern = 1
	MatchPattern    ACLPattern = 2 // for filters: whatever applies to a name
	LiteralPattern  ACLPattern = 3
	PrefixedPattern ACLPattern = 4

	AnyOperation    ACLOperation = 1
	AllOperations   ACLOperation = 2
	Read            ACLOperation = 3
	Write           ACLOperation = 4
	Create          ACLOperation = 5
	Describe        ACLOperation = 8
	IdempotentWrite ACLOperation = 12

	AnyPermission ACLPermission = 1
	Deny          ACLPermission = 2
	Allow         ACLPermission = 3
)

// ClusterName is the one name of a resource of type CLUSTER.
const ClusterName = "kafka-cluster"

// The names by value. The first stands for all values behind the last.
var (
	resourceNames  = strings.Fields("UNKNOWN ANY TOPIC GROUP CLUSTER TRANSACTIONAL_ID DELEGATION_TOKEN USER")
	patternNames   = strings.Fields("UNKNOWN ANY MATCH LITERAL PREFIXED")
	operationNames = strings.Fields(`UNKNOWN ANY ALL READ WRITE CREATE DELETE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS
		ALTER_CONFIGS IDEMPOTENT_WRITE CREATE_TOKENS DESCRIBE_TOKENS TWO_PHASE_COMMIT`)
	permissionNames = strings.Fields("UNKNOWN ANY DENY ALLOW")
)

func (r ACLResource) String() string   { return aclName(resourceNames, r) }
func (p ACLPattern) String() string    { return aclName(patternNames, p) }
func (o ACLOperation) String() string  { return aclName(operationNames, o) }
func (p ACLPermission) String() string { return aclName(permissionNames, p) }

func aclName[T ~int8](names []string, v T) string {
	if v < 0 || int(v) >= len(names) {
		return names[0]
	}
	return names[v]
}

// ParseACLResource reads a name as people write them: "topic", "TransactionalId".
func ParseACLResource(s string) (ACLResource, error) { return parseACL[ACLResource](resourceNames, s) }

// ParseACLPattern reads the name of a type of patterns.
func ParseACLPattern(s string) (ACLPattern, error) { return parseACL[ACLPattern](patternNames, s) }

// ParseACLOperation reads a name as Kafka's tools have it, "AlterConfigs", or as they
// print it, "ALTER_CONFIGS".
func ParseACLOperation(s string) (ACLOperation, error) {
	return parseACL[ACLOperation](operationNames, s)
}

// ParseACLPermission reads "allow" or "deny".
func ParseACLPermission(s string) (ACLPermission, error) {
	return parseACL[ACLPermission](permissionNames, s)
}

func parseACL[T ~int8](names []string, s string) (T, error) {
	plain := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	for v, name := range names[1:] {
		if plain(name) == plain(s) {
			return T(v + 1), nil
		}
	}
	return 0, fmt.Errorf("%q is none of %s", s, strings.Join(names[1:], ", "))
}

// aclOperations are those that there can be on a resource, besides ALL.
//
// Source: Kafka 4.4.0, AclEntry.java.
var aclOperations = map[ACLResource]string{
	TopicResource:     "READ WRITE CREATE DELETE ALTER DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
	GroupResource:     "READ DELETE DESCRIBE DESCRIBE_CONFIGS ALTER_CONFIGS",
	ClusterResource:   "CREATE ALTER DESCRIBE CLUSTER_ACTION DESCRIBE_CONFIGS ALTER_CONFIGS IDEMPOTENT_WRITE",
	TxnResource:       "WRITE DESCRIBE TWO_PHASE_COMMIT",
	TokenResource:     "DESCRIBE",
	PrincipalResource: "CREATE_TOKENS DESCRIBE_TOKENS",
}

// Operations returns the operations that an ACL on such a resource can be about.
func (r ACLResource) Operations() []ACLOperation {
	all := []ACLOperation{AllOperations}
	for _, name := range strings.Fields(aclOperations[r]) {
		all = append(all, ACLOperation(slices.Index(operationNames, name)))
	}
	return all
}
