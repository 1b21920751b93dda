//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/coordinator/groupscript"
	"kf/internal/format/batch"
	"kf/internal/format/grouprec"
	"kf/internal/kftest"
)

// Kafka and kf are asked the same by members of groups, and answer and record the
// same. The answers of Kafka are kept for the test of the coordinator itself.
func TestGroupScripts(t *testing.T) {
	golden, err := filepath.Abs(filepath.Join("..", "coordinator", "groupscript", "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	first := s.dir(t)
	b := s.kf.start(t, []string{first}, "offsets.topic.num.partitions=3")
	c := &remoteCluster{address: b.bootstrap}
	for topic, partitions := range groupscript.Before {
		if err := c.Create(topic, partitions); err != nil {
			t.Fatal(err)
		}
	}
	b.stop(t)

	texts, hashes := make(map[string]map[string]string), make(map[string][]string) // by program
	for _, p := range []party{s.kf, s.kafka} {
		dir := filepath.Join(s.root, "groups-"+p.name)
		copyTree(t, first, dir)
		served := p.start(t, []string{dir}, "offsets.topic.num.partitions=3", "group.initial.rebalance.delay.ms=0", "log.cleaner.enable=false",
			fmt.Sprintf("group.consumer.min.session.timeout.ms=%d", groupscript.SessionTimeout), fmt.Sprintf("group.consumer.session.timeout.ms=%d", groupscript.SessionTimeout),
			fmt.Sprintf("group.consumer.min.heartbeat.interval.ms=%d", groupscript.HeartbeatInterval), fmt.Sprintf("group.consumer.heartbeat.interval.ms=%d", groupscript.HeartbeatInterval),
			fmt.Sprintf("group.min.session.timeout.ms=%d", groupscript.MinSession))
		plays := playGroups(t, served.bootstrap)
		served.stop(t)
		records := offsetRecords(t, dir)
		texts[p.name] = make(map[string]string)
		for name, play := range plays {
			texts[p.name][name] = play.Text(records)
		}
		hashes[p.name] = topicHashes(records)
	}
	for _, name := range groupscript.Names() {
		t.Run(name, func(t *testing.T) {
			kftest.Golden(t, filepath.Join(golden, name+".kafka"), texts["Kafka"][name])
			same(t, "what kf did", texts["kf"][name], texts["Kafka"][name])
		})
	}
	same(t, "the hashes of topics", strings.Join(hashes["kf"], ""), strings.Join(hashes["Kafka"], ""))
}

// playGroups plays all scripts at once.
func playGroups(t *testing.T, address string) map[string]*groupscript.Play {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	plays := make(map[string]*groupscript.Play)
	for _, name := range groupscript.Names() {
		c := &remoteCluster{address: address}
		if err := c.coordinate(name); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer c.close()
			play, err := groupscript.Run(c, name, groupscript.Script(name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			plays[name] = play
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return plays
}

// topicHashes returns the hashes in the records of groups that saw no new topics.
func topicHashes(records []grouprec.Record) []string {
	var all []string
	for _, r := range records {
		key, ok := r.Key.(*grouprec.ConsumerGroupMetadataKey)
		v, _ := r.Value.(*grouprec.ConsumerGroupMetadataValue)
		if ok && v != nil && !strings.Contains(groupscript.Script(key.GroupID), "create ") {
			all = append(all, fmt.Sprintf("%s %d %d\n", key.GroupID, v.Epoch, v.MetadataHash))
		}
	}
	slices.Sort(all)
	return all
}

// offsetRecords returns the records of __consumer_offsets in a directory.
func offsetRecords(t *testing.T, dir string) []grouprec.Record {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "__consumer_offsets-*", "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no records of groups in %s: %v", dir, err)
	}
	var all []grouprec.Record
	for _, file := range files {
		p, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for d := (batch.Decoder{}); len(p) > 0; {
			h, err := batch.DecodeHeader(p)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			rs, err := d.Open(h, p[:h.Size()])
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for r, err := range rs.All() {
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				decoded, err := grouprec.Decode(bytes.Clone(r.Key), bytes.Clone(r.Value))
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				all = append(all, decoded)
			}
			p = p[h.Size():]
		}
	}
	return all
}

// A remoteCluster is a broker that is asked over connections of members.
type remoteCluster struct {
	address string
	mu      sync.Mutex
	conns   map[string]*memberConn
}

// A memberConn is a connection on which one request is under way at a time.
type memberConn struct {
	conn net.Conn
	in   *bufio.Reader
}

// Ask implements [groupscript.Cluster].
func (c *remoteCluster) Ask(member string, q kmsg.Request) (kmsg.Response, error) {
	m, err := c.connect(member)
	if err != nil {
		return nil, err
	}
	if err := m.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return nil, err
	}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID("member"))
	if _, err := m.conn.Write(format.AppendRequest(nil, q, 1)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(m.in, size[:]); err != nil {
		return nil, err
	}
	p := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(m.in, p); err != nil {
		return nil, err
	}
	r := q.ResponseKind()
	header := 4
	if r.IsFlexible() {
		header++ // no tags
	}
	if len(p) < header {
		return nil, fmt.Errorf("an answer of %d bytes", len(p))
	}
	return r, r.ReadFrom(p[header:])
}

func (c *remoteCluster) connect(member string) (*memberConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m := c.conns[member]; m != nil {
		return m, nil
	}
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return nil, err
	}
	if c.conns == nil {
		c.conns = make(map[string]*memberConn)
	}
	m := &memberConn{conn, bufio.NewReader(conn)}
	c.conns[member] = m
	return m, nil
}

func (c *remoteCluster) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.conns {
		m.conn.Close()
	}
}

// Create implements [groupscript.Cluster].
func (c *remoteCluster) Create(topic string, partitions int32) error {
	q := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, partitions, 1
	q.Version, q.TimeoutMillis, q.Topics = 7, 10000, append(q.Topics, t)
	return c.change(q, func(r kmsg.Response) int16 { return r.(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode })
}

// Grow implements [groupscript.Cluster].
func (c *remoteCluster) Grow(topic string, partitions int32) error {
	q := kmsg.NewPtrCreatePartitionsRequest()
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = topic, partitions
	q.Version, q.TimeoutMillis, q.Topics = 3, 10000, append(q.Topics, t)
	return c.change(q, func(r kmsg.Response) int16 { return r.(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode })
}

// Delete implements [groupscript.Cluster].
func (c *remoteCluster) Delete(topic string) error {
	q := kmsg.NewPtrDeleteTopicsRequest()
	t := kmsg.NewDeleteTopicsRequestTopic()
	t.Topic = &topic
	q.Version, q.TimeoutMillis, q.Topics = 6, 10000, append(q.Topics, t)
	return c.change(q, func(r kmsg.Response) int16 { return r.(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode })
}

// change changes topics, and gives the coordinator time to see it. A broker that is
// too busy to tell the controller that it is alive is none for a moment.
func (c *remoteCluster) change(q kmsg.Request, code func(kmsg.Response) int16) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r, err := c.Ask("", q)
		if err != nil {
			return err
		}
		if code(r) != kerr.InvalidReplicationFactor.Code || time.Now().After(end) {
			time.Sleep(300 * time.Millisecond)
			return kerr.ErrorForCode(code(r))
		}
	}
}

// Topics implements [groupscript.Cluster].
func (c *remoteCluster) Topics() (map[string][16]byte, error) {
	q := kmsg.NewPtrMetadataRequest()
	q.Version = 12
	r, err := c.Ask("", q)
	if err != nil {
		return nil, err
	}
	ids := make(map[string][16]byte)
	for _, t := range r.(*kmsg.MetadataResponse).Topics {
		ids[*t.Topic] = t.TopicID
	}
	return ids, nil
}

// coordinate waits until a group has its coordinator, with its groups.
func (c *remoteCluster) coordinate(group string) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorKeys = 4, []string{group}
		if _, err := c.Ask("", find); err != nil {
			return err
		}
		q := kmsg.NewPtrConsumerGroupDescribeRequest()
		q.Version, q.Groups = 1, []string{group}
		r, err := c.Ask("", q)
		if err != nil {
			return err
		}
		if r.(*kmsg.ConsumerGroupDescribeResponse).Groups[0].ErrorCode == kerr.GroupIDNotFound.Code { // it is known that there is none
			return nil
		}
	}
	return errors.New("there is no coordinator")
}
