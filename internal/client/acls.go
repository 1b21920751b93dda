package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// An ACL allows or denies one operation on resources to a principal.
type ACL struct {
	Resource   ACLResource
	Name       string // of the resource, or what its name starts with; "*" is any
	Pattern    ACLPattern
	Principal  string // "User:alice"; "User:*" is everybody
	Host       string // "*" is any
	Operation  ACLOperation
	Permission ACLPermission
}

// Compare orders ACLs by resource, then by principal.
func (a ACL) Compare(b ACL) int {
	return cmp.Or(
		cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Pattern, b.Pattern),
		cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Permission, b.Permission),
		cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Host, b.Host),
	)
}

// An ACLFilter matches ACLs. A nil field, or one of the Any values, matches all. With
// MatchPattern it matches those that apply to the resource Name.
type ACLFilter struct {
	Resource              ACLResource
	Name, Principal, Host *string
	Pattern               ACLPattern
	Operation             ACLOperation
	Permission            ACLPermission
}

// AnyACL matches every ACL.
func AnyACL() ACLFilter {
	return ACLFilter{Resource: AnyResource, Pattern: AnyPattern, Operation: AnyOperation, Permission: AnyPermission}
}

// FindACLs returns the ACLs that a filter matches, in order.
func (c *Client) FindACLs(ctx context.Context, f ACLFilter) ([]ACL, error) {
	q := kmsg.NewPtrDescribeACLsRequest()
	q.ResourceType, q.ResourcePatternType = kmsg.ACLResourceType(f.Resource), kmsg.ACLResourcePatternType(f.Pattern)
	q.ResourceName, q.Principal, q.Host = f.Name, f.Principal, f.Host
	q.Operation, q.PermissionType = kmsg.ACLOperation(f.Operation), kmsg.ACLPermissionType(f.Permission)
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return nil, serves(q, err)
	}
	if err := answerError(r.ErrorCode, r.ErrorMessage); err != nil {
		return nil, err
	}
	var all []ACL
	for _, to := range r.Resources {
		for _, a := range to.ACLs {
			all = append(all, ACL{
				ACLResource(to.ResourceType), to.ResourceName, ACLPattern(to.ResourcePatternType),
				a.Principal, a.Host, ACLOperation(a.Operation), ACLPermission(a.PermissionType),
			})
		}
	}
	slices.SortFunc(all, ACL.Compare)
	return all, nil
}

// AddACLs creates ACLs. One that there is already is no error. The errors are those of
// the ACLs, in their order.
func (c *Client) AddACLs(ctx context.Context, acls []ACL) ([]error, error) {
	q := kmsg.NewPtrCreateACLsRequest()
	for _, a := range acls {
		to := kmsg.NewCreateACLsRequestCreation()
		to.ResourceType, to.ResourceName, to.ResourcePatternType = kmsg.ACLResourceType(a.Resource), a.Name, kmsg.ACLResourcePatternType(a.Pattern)
		to.Principal, to.Host = a.Principal, a.Host
		to.Operation, to.PermissionType = kmsg.ACLOperation(a.Operation), kmsg.ACLPermissionType(a.Permission)
		q.Creations = append(q.Creations, to)
	}
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return nil, serves(q, err)
	}
	errs := make([]error, len(acls))
	for i := range errs {
		if errs[i] = errNoAnswer; i < len(r.Results) {
			errs[i] = answerError(r.Results[i].ErrorCode, r.Results[i].ErrorMessage)
		}
	}
	return errs, nil
}

// RemoveACLs deletes exactly these ACLs. One that is gone already is no error. The
// errors are those of the ACLs, in their order.
func (c *Client) RemoveACLs(ctx context.Context, acls []ACL) ([]error, error) {
	q := kmsg.NewPtrDeleteACLsRequest()
	for _, a := range acls {
		to := kmsg.NewDeleteACLsRequestFilter()
		to.ResourceType, to.ResourceName, to.ResourcePatternType = kmsg.ACLResourceType(a.Resource), &a.Name, kmsg.ACLResourcePatternType(a.Pattern)
		to.Principal, to.Host = &a.Principal, &a.Host
		to.Operation, to.PermissionType = kmsg.ACLOperation(a.Operation), kmsg.ACLPermissionType(a.Permission)
		q.Filters = append(q.Filters, to)
	}
	r, err := q.RequestWith(ctx, c.to())
	if err != nil {
		return nil, serves(q, err)
	}
	errs := make([]error, len(acls))
	for i := range errs {
		if i >= len(r.Results) {
			errs[i] = errNoAnswer
			continue
		}
		errs[i] = answerError(r.Results[i].ErrorCode, r.Results[i].ErrorMessage)
		for _, m := range r.Results[i].MatchingACLs {
			if errs[i] == nil {
				errs[i] = answerError(m.ErrorCode, m.ErrorMessage)
			}
		}
	}
	return errs, nil
}
