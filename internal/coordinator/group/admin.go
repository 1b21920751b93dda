package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (c *Coordinator) ListGroups(q *kmsg.ListGroupsRequest, reply func(*kmsg.ListGroupsResponse)) {
	panic("admin")
}
func (c *Coordinator) DescribeGroups(q *kmsg.DescribeGroupsRequest, reply func(*kmsg.DescribeGroupsResponse)) {
	panic("admin")
}
func (c *Coordinator) ConsumerGroupDescribe(q *kmsg.ConsumerGroupDescribeRequest, reply func(*kmsg.ConsumerGroupDescribeResponse)) {
	panic("admin")
}
func (c *Coordinator) DeleteGroups(q *kmsg.DeleteGroupsRequest, reply func(*kmsg.DeleteGroupsResponse)) {
	panic("admin")
}
