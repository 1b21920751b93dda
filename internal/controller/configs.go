package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/format/kraftrec"
	"kf/internal/image"
)

// maxConfigValue is the longest value of a configuration, in bytes: what a
// string of a record holds.
const maxConfigValue = 32767

// IncrementalAlterConfigs answers the request in its version. Which broker a
// client may ask to change which broker's configurations is for the broker to
// check; the controller knows all that are registered.
//
// Source: Kafka 4.4.0, ConfigAdminManager.java, ConfigurationControlManager.java.
func (c *Controller) IncrementalAlterConfigs(ctx context.Context, req *kmsg.IncrementalAlterConfigsRequest) *kmsg.IncrementalAlterConfigsResponse {
	res := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	times := map[image.Resource]int{}
	for _, r := range req.Resources {
		times[image.Resource{Type: image.ResourceType(r.ResourceType), Name: r.ResourceName}]++
		answered := kmsg.NewIncrementalAlterConfigsResponseResource()
		answered.ResourceType, answered.ResourceName = r.ResourceType, r.ResourceName
		res.Resources = append(res.Resources, answered)
	}
	err := c.change(ctx, func(v view) ([]any, error) {
		var all []any
		for i, r := range req.Resources {
			records, err := v.alterResource(r, times)
			res.Resources[i].ErrorCode, res.Resources[i].ErrorMessage = answer(err)
			all = append(all, records...)
		}
		if req.ValidateOnly {
			return nil, nil
		}
		return all, nil
	})
	if err != nil {
		for i := range res.Resources {
			res.Resources[i].ErrorCode, res.Resources[i].ErrorMessage = answer(err)
		}
	}
	return res
}

// alterResource returns the records that change a resource as the request says.
func (v view) alterResource(req kmsg.IncrementalAlterConfigsRequestResource, times map[image.Resource]int) ([]any, error) {
	r := image.Resource{Type: image.ResourceType(req.ResourceType), Name: req.ResourceName}
	if times[r] > 1 {
		return nil, &Error{kerr.InvalidRequest, "Each resource must appear at most once."}
	}
	switch r.Type {
	case image.TopicResource, image.BrokerResource, image.ClientMetricsResource, image.GroupResource:
	default:
		return nil, &Error{kerr.InvalidRequest, fmt.Sprintf("Unexpected resource type %v.", req.ResourceType)}
	}
	var ops []configOp
	var null []string
	for i, c := range req.Configs {
		if slices.ContainsFunc(req.Configs[:i], func(other kmsg.IncrementalAlterConfigsRequestResourceConfig) bool { return other.Name == c.Name }) {
			return nil, &Error{kerr.InvalidRequest, "Error due to duplicate config keys"}
		}
		if c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete {
			null = append(null, c.Name)
		}
		ops = append(ops, configOp{c.Name, c.Op, c.Value})
	}
	if len(null) > 0 {
		return nil, &Error{kerr.InvalidRequest, "Null value not supported for : " + strings.Join(null, ", ")}
	}
	records, err := v.alterConfigs(r, ops)
	if err == nil {
		err = v.checkResource(r)
	}
	if err != nil {
		return nil, err
	}
	return records, nil
}

// checkResource reports whether a resource is there to be changed.
func (v view) checkResource(r image.Resource) error {
	switch {
	case r.Type == image.TopicResource && v.Topic(r.Name) == nil:
		return &Error{kerr.UnknownTopicOrPartition, "The topic '" + r.Name + "' does not exist."}
	case r.Type == image.BrokerResource && r.Name != "":
		id, err := strconv.ParseInt(r.Name, 10, 32)
		if err != nil {
			return &Error{kerr.InvalidRequest, "Unable to parse broker name as a base 10 number."}
		}
		if v.Broker(int32(id)) == nil {
			return &Error{kerr.BrokerIDNotRegistered, fmt.Sprintf("No broker with id %d found.", id)}
		}
	case r.Type == image.GroupResource && r.Name == "":
		return &Error{kerr.InvalidRequest, "Default group resources are not allowed."}
	}
	return nil
}

// A configOp is one change of a configuration.
type configOp struct {
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value *string // nil with DELETE
}

// alterConfigs returns the records of changes of a resource, all or none.
func (v view) alterConfigs(r image.Resource, ops []configOp) ([]any, error) {
	var records []any
	clear := false
	for _, op := range ops {
		old, set := v.Config(r, op.name)
		value, err := v.apply(r, op)
		if err != nil {
			return nil, err
		}
		// A broker reloads what it is told again, such as a renewed certificate.
		same := set == (value != nil) && (value == nil || *value == old)
		if same && r.Type != image.BrokerResource {
			continue
		}
		if err := v.checkConfig(r, op.name, value); err != nil {
			return nil, err
		}
		records = append(records, &kraftrec.ConfigRecord{ResourceType: int8(r.Type), ResourceName: r.Name, Name: op.name, Value: value})
		clear = clear || op.name == minInsyncReplicas
	}
	if err := v.checkTogether(r, records); err != nil {
		return nil, err
	}
	if clear && v.ELREnabled() {
		// Who is eligible was decided by another minimum.
		topic := ""
		if r.Type == image.TopicResource {
			topic = r.Name
		}
		records = append(records, &kraftrec.ClearELRRecord{TopicName: topic})
	}
	return records, nil
}

// checkTogether checks what a resource has after the changes.
func (v view) checkTogether(r image.Resource, records []any) error {
	if len(records) == 0 || v.configs.CheckTogether == nil {
		return nil
	}
	all := maps.Collect(v.Configs(r))
	for _, record := range records {
		c := record.(*kraftrec.ConfigRecord)
		if c.Value == nil {
			delete(all, c.Name)
		} else {
			all[c.Name] = *c.Value
		}
	}
	if err := v.configs.CheckTogether(r, all); err != nil {
		return &Error{kerr.InvalidConfig, err.Error()}
	}
	return nil
}

// apply returns the value of a configuration after a change, nil for none.
func (v view) apply(r image.Resource, op configOp) (*string, error) {
	switch op.op {
	case kmsg.IncrementalAlterConfigOpSet:
		return op.value, nil
	case kmsg.IncrementalAlterConfigOpDelete:
		return nil, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, &Error{Code: kerr.UnknownServerError}
	}
	if v.configs.IsList == nil || !v.configs.IsList(r.Type, op.name) {
		return nil, &Error{kerr.InvalidConfig, fmt.Sprintf("Can't %v to key %s because its type is not LIST.", op.op, op.name)}
	}
	old, set := v.Config(r, op.name)
	if !set && v.configs.Default != nil {
		old, _ = v.configs.Default(r.Type, op.name)
	}
	list := slices.DeleteFunc(strings.Split(old, ","), func(s string) bool { return s == "" })
	for _, item := range strings.Split(*op.value, ",") {
		at := slices.Index(list, item)
		switch {
		case op.op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			list = append(list, item)
		case op.op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	return new(strings.Join(list, ",")), nil
}

// checkConfig checks a new value, nil for none.
func (v view) checkConfig(r image.Resource, name string, value *string) error {
	if r.Type == image.BrokerResource && name == minInsyncReplicas && v.ELREnabled() {
		switch {
		case r.Name != "":
			return &Error{kerr.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."}
		case value == nil:
			return &Error{kerr.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."}
		}
	}
	if len(name) > maxConfigValue || value != nil && len(*value) > maxConfigValue {
		return &Error{kerr.InvalidConfig, fmt.Sprintf("The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxConfigValue)}
	}
	if v.configs.Validate == nil {
		return nil
	}
	err := v.configs.Validate(r, name, value)
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	code := kerr.InvalidConfig
	if e, ok := errors.AsType[*kerr.Error](err); ok {
		code = e
	}
	return &Error{code, err.Error()}
}
