package topics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"kf/internal/cli"
	"kf/internal/client"
)

// A trimFile has the offsets up to which records go, by topic and partition; -1 is the
// end of the partition.
type trimFile map[string]map[int32]int64

// maxTrimFile is more than a file for 100,000 partitions takes, in bytes.
const maxTrimFile = 64 << 20

// readTrimFile reads a file as kafka-delete-records takes it, "-" for stdin.
func readTrimFile(ctx context.Context, env *cli.Env, name string) (trimFile, error) {
	f, name, err := env.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := io.ReadAll(io.LimitReader(f, maxTrimFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(p) > maxTrimFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxTrimFile)
	}
	file, err := parseTrimFile(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// parseTrimFile reads the JSON of such a file. Fields that it does not know are let
// through, as Kafka's script does.
//
// Source: Kafka 4.4.0, DeleteRecordsCommand.java.
func parseTrimFile(p []byte) (trimFile, error) {
	var doc struct {
		Version    *int `json:"version"`
		Partitions *[]struct {
			Topic     *string `json:"topic"`
			Partition *int32  `json:"partition"`
			Offset    *int64  `json:"offset"`
		} `json:"partitions"`
	}
	if err := json.Unmarshal(p, &doc); err != nil {
		return nil, err
	}
	switch {
	case doc.Version != nil && *doc.Version != 1:
		return nil, fmt.Errorf("version %d is not known: want 1", *doc.Version)
	case doc.Partitions == nil:
		return nil, errors.New(`there is no field "partitions"`)
	}
	file := make(trimFile)
	for i, e := range *doc.Partitions {
		switch {
		case e.Topic == nil, e.Partition == nil, e.Offset == nil:
			return nil, fmt.Errorf(`entry %d of "partitions": want "topic", "partition" and "offset"`, i)
		case *e.Partition < 0:
			return nil, fmt.Errorf(`entry %d of "partitions": %d is no partition`, i, *e.Partition)
		case *e.Offset < -1:
			return nil, fmt.Errorf(`entry %d of "partitions": %d is no offset: want 0 or more, or -1 for the end`, i, *e.Offset)
		}
		if file[*e.Topic] == nil {
			file[*e.Topic] = make(map[int32]int64)
		}
		if _, twice := file[*e.Topic][*e.Partition]; twice {
			return nil, fmt.Errorf(`entry %d of "partitions": %s-%d is named twice`, i, *e.Topic, *e.Partition)
		}
		file[*e.Topic][*e.Partition] = *e.Offset
	}
	return file, nil
}

// topics asks the cluster for the topics with the partitions that the file names, and
// tells of those that there are not.
func (f trimFile) topics(ctx context.Context, cl topicSource, report *failures) ([]client.Topic, error) {
	if len(f) == 0 {
		return nil, nil
	}
	cluster, err := cl.Topics(ctx, slices.Sorted(maps.Keys(f)))
	if err != nil {
		return nil, err
	}
	var found []client.Topic
	for _, t := range cluster.Topics {
		if t.Err != nil {
			report.topic(t.Name, t.Err)
			continue
		}
		t.Partitions = slices.DeleteFunc(slices.Clone(t.Partitions), func(p client.Partition) bool {
			_, named := f[t.Name][p.ID]
			return !named
		})
		for _, p := range slices.Sorted(maps.Keys(f[t.Name])) {
			if !slices.ContainsFunc(t.Partitions, func(q client.Partition) bool { return q.ID == p }) {
				report.add("%s-%d: there is no such partition", t.Name, p)
			}
		}
		found = append(found, t)
	}
	return found, nil
}
