//go:build interop

package interop

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	aclResource = regexp.MustCompile(`(?m)ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)`)
	aclEntry    = regexp.MustCompile(`(?m)\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)`)
)

// kafkaACLs returns the ACLs that kafka-acls lists.
func (c *cluster) kafkaACLs(t *testing.T, args ...string) string {
	t.Helper()
	r := c.kafka(t, "AclCommand", append([]string{"--list"}, args...)...)
	if r.exit != 0 {
		t.Fatal(r.stdout, r.stderr)
	}
	var all []string
	resource := ""
	for line := range strings.Lines(r.stdout) {
		if m := aclResource.FindStringSubmatch(line); m != nil {
			resource = strings.Join(m[1:], " ")
		}
		if m := aclEntry.FindStringSubmatch(line); m != nil {
			all = append(all, resource+" "+strings.Join(m[1:], " "))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

func aclFacts(rows []map[string]string) string {
	return picked(rows, "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission")
}

func (c *cluster) sameACLs(t *testing.T) {
	kfs := func(args ...string) string {
		return aclFacts(kfRows(t, c.kf(append([]string{"acls", "list", "-o", "csv"}, args...)...)))
	}
	same := func(what string, kf, kafka []string) {
		t.Helper()
		eventually(t, what, func() (string, string) { return kfs(kf...), c.kafkaACLs(t, kafka...) })
	}
	add := func(args string) {
		t.Helper()
		if r := c.kafka(t, "AclCommand", append([]string{"--add"}, strings.Fields(args)...)...); r.exit != 0 {
			t.Fatal(args, r.stdout, r.stderr)
		}
	}
	// The same by both, for two principals each: the ACLs must be the same but for that.
	for i, args := range []string{
		"--operation Read --operation Write --topic a-1 --topic a-2",
		"--producer --topic a-p --resource-pattern-type prefixed",
		"--producer --idempotent --topic a-3 --transactional-id tx",
		"--consumer --topic a-3 --group a-g",
		"--producer --consumer --topic a-4 --group *",
		"--operation Create --operation ClusterAction --cluster",
		"--topic *",
		"--operation TwoPhaseCommit --transactional-id tx --allow-host 10.0.0.1 --allow-host ::1",
	} {
		by := func(who string) []string { return []string{"--allow-principal", fmt.Sprintf("User:%s-%d", who, i)} }
		add(strings.Join(by("kafka"), " ") + " " + args)
		kf := c.kf(slices.Concat([]string{"acls", "create", "-o", "csv"}, by("kf"), strings.Fields(args))...)
		if rows := kfRows(t, kf); strings.Count(picked(rows, "result"), "created") != len(rows) {
			t.Errorf("%s: %s%s", args, kf.stdout, kf.stderr)
		}
		eventually(t, args, func() (string, string) {
			kf, kafka := c.kafkaACLs(t, "--principal", fmt.Sprintf("User:kf-%d", i)), c.kafkaACLs(t, "--principal", fmt.Sprintf("User:kafka-%d", i))
			return strings.ReplaceAll(kf, "User:kf-", "User:kafka-"), kafka
		})
	}
	add("--deny-principal User:eve --deny-host 10.0.0.1 --operation All --topic a- --resource-pattern-type prefixed")
	add("--allow-principal User:eve --operation CreateTokens --user-principal User:bob")

	// Filters find the same.
	same("all", nil, nil)
	same("topic", []string{"--topic", "a-3", "--pattern", "literal"}, []string{"--topic", "a-3"})
	same("prefixed", []string{"--topic", "a-", "--pattern", "prefixed"}, []string{"--topic", "a-", "--resource-pattern-type", "prefixed"})
	same("match", []string{"--topic", "a-p7", "--pattern", "match"}, []string{"--topic", "a-p7", "--resource-pattern-type", "match"})
	same("any", []string{"--topic", "a-p"}, []string{"--topic", "a-p", "--resource-pattern-type", "any"})
	same("several", []string{"--topic", "a-1", "--group", "*"}, []string{"--topic", "a-1", "--group", "*", "--resource-pattern-type", "any"})
	same("the cluster", []string{"--cluster"}, []string{"--cluster"})
	same("principals", []string{"--principal", "User:eve", "--principal", "User:kf-2"}, []string{"--principal", "User:eve", "--principal", "User:kf-2"})
	controllers := c.controllers(t)
	eventually(t, "controllers", func() (string, string) {
		return aclFacts(kfRows(t, runKF("acls", "list", "-o", "csv", "--bootstrap-controller", controllers))), c.kafkaACLs(t)
	})

	// What kf deletes is gone for Kafka, and nothing else.
	before := strings.Split(c.kafkaACLs(t), "\n")
	dry := kfRows(t, c.kf("acls", "delete", "--operation", "Read", "--operation", "Create", "--permission", "allow", "-o", "csv", "--dry-run"))
	kf := c.kf("acls", "delete", "--operation", "Read", "--operation", "Create", "--permission", "allow", "-o", "csv", "--yes")
	deleted := kfRows(t, kf)
	sameFacts(t, "dry run", aclFacts(dry), aclFacts(deleted))
	left := slices.DeleteFunc(before, func(a string) bool {
		words := strings.Fields(a)
		operation := words[len(words)-2]
		return words[len(words)-1] == "ALLOW" && (operation == "READ" || operation == "CREATE")
	})
	eventually(t, "left", func() (string, string) { return strings.Join(left, "\n"), c.kafkaACLs(t) })
	if r := c.kf("acls", "delete", "--all"); r.exit != 2 || !strings.Contains(r.stderr, "--yes") {
		t.Errorf("it was not asked: %+v", r)
	}
	kfRows(t, c.kf("acls", "delete", "--all", "--yes", "-o", "csv"))
	eventually(t, "nothing is left", func() (string, string) { return "none" + c.kafkaACLs(t), "none" })
}
