package broker

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/storage"
	"kf/internal/storage/disk"
	"kf/internal/wire"
)

// A testLog is a log with some records, whose regions stand for any others.
func testLog(t testing.TB, fsys disk.FS, records, size int) *storage.Log {
	t.Helper()
	l, err := storage.OpenLog(context.Background(), storage.LogOptions{FS: fsys, Dir: t.TempDir(), Config: newTopicConfig(file(nil), nil, false).log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Abandon(storage.ErrClosed) })
	for range records {
		if _, err := l.Append(oneBatch(1, payload(size)), storage.AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// region returns the first n bytes of a log.
func region(t testing.TB, l *storage.Log, n int) storage.Region {
	t.Helper()
	r, err := l.Read(0, 1<<30, storage.ToLogEnd, false)
	if err != nil {
		t.Fatal(err)
	}
	if n > r.Data.Len() {
		t.Fatalf("the log has %d bytes, want %d", r.Data.Len(), n)
	}
	r.Data.Truncate(n)
	return r.Data
}

// contents returns the bytes of an answer with its holes filled.
func contents(t testing.TB, p []byte, holes []hole) []byte {
	t.Helper()
	var out []byte
	from := 0
	for i := range holes {
		out = append(out, p[from:holes[i].at]...)
		from = holes[i].at
		data := make([]byte, holes[i].region.Len())
		if _, err := holes[i].region.ReadAt(data, 0); err != nil {
			t.Fatal(err)
		}
		out = append(out, data...)
	}
	return append(out, p[from:]...)
}

// randomAnswer makes an answer, and the same for kmsg.
func randomAnswer(t testing.TB, rnd *rand.Rand, l *storage.Log, version int16) (*fetchAnswer, *kmsg.FetchResponse) {
	text := func() string { return string(bytes.Repeat([]byte{'a' + byte(rnd.IntN(26))}, rnd.IntN(300))) }
	odd := func() bool { return rnd.IntN(2) == 1 }
	a := &fetchAnswer{errorCode: int16(rnd.IntN(130) - 1), sessionID: rnd.Int32()}
	k := kmsg.NewPtrFetchResponse()
	k.SetVersion(version)
	k.ErrorCode, k.SessionID = a.errorCode, a.sessionID
	for range rnd.IntN(4) {
		topic := fetchAnswerTopic{topic: text(), id: wire.UUID{byte(rnd.IntN(256)), 15: 1}}
		kt := kmsg.NewFetchResponseTopic()
		kt.Topic, kt.TopicID = topic.topic, topic.id
		for range rnd.IntN(4) {
			p := failedFetch(rnd.Int32(), int16(rnd.IntN(130)))
			p.highWatermark, p.lastStableOffset, p.logStartOffset, p.preferredReplica = rnd.Int64(), rnd.Int64(), rnd.Int64(), rnd.Int32()
			kp := kmsg.NewFetchResponseTopicPartition()
			if odd() {
				p.aborted, kp.AbortedTransactions = []storage.AbortedTxn{}, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
				for range rnd.IntN(3) {
					x := storage.AbortedTxn{ProducerID: rnd.Int64(), FirstOffset: rnd.Int64()}
					p.aborted = append(p.aborted, x)
					kx := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
					kx.ProducerID, kx.FirstOffset = x.ProducerID, x.FirstOffset
					kp.AbortedTransactions = append(kp.AbortedTransactions, kx)
				}
			}
			if odd() {
				p.divergingEpoch, p.divergingEnd = rnd.Int32(), rnd.Int64()
			}
			if odd() {
				p.leader, p.leaderEpoch = rnd.Int32(), rnd.Int32()
			}
			kp.RecordBatches = []byte{}
			if n := rnd.IntN(300); odd() {
				p.records = region(t, l, n)
				kp.RecordBatches = make([]byte, n)
				if _, err := p.records.ReadAt(kp.RecordBatches, 0); n > 0 && err != nil {
					t.Fatal(err)
				}
			}
			kp.Partition, kp.ErrorCode, kp.HighWatermark, kp.LastStableOffset = p.partition, p.errorCode, p.highWatermark, p.lastStableOffset
			kp.LogStartOffset, kp.PreferredReadReplica = p.logStartOffset, p.preferredReplica
			kp.DivergingEpoch.Epoch, kp.DivergingEpoch.EndOffset = p.divergingEpoch, p.divergingEnd
			kp.CurrentLeader.LeaderID, kp.CurrentLeader.LeaderEpoch = p.leader, p.leaderEpoch
			topic.partitions = append(topic.partitions, p)
			kt.Partitions = append(kt.Partitions, kp)
		}
		a.topics = append(a.topics, topic)
		k.Topics = append(k.Topics, kt)
	}
	for range rnd.IntN(3) {
		n := fetchAnswerNode{id: rnd.Int32(), host: text(), port: rnd.Int32()}
		if odd() {
			n.rack = kmsg.StringPtr(text())
		}
		kn := kmsg.NewFetchResponseBroker()
		kn.NodeID, kn.Host, kn.Port, kn.Rack = n.id, n.host, n.port, n.rack
		a.nodes = append(a.nodes, n)
		k.Brokers = append(k.Brokers, kn)
	}
	return a, k
}

// Our encoder writes what kmsg writes.
func FuzzFetchAnswer(f *testing.F) {
	l := testLog(f, disk.OS, 1, 1000)
	for version := int16(4); version <= 18; version++ {
		for seed := range uint64(20) {
			f.Add(seed, version)
		}
	}
	f.Fuzz(func(t *testing.T, seed uint64, version int16) {
		if version < 4 || version > 18 {
			return
		}
		a, k := randomAnswer(t, rand.New(rand.NewPCG(seed, 0)), l, version)
		p, holes := a.appendTo([]byte("before"), version)
		defer func() {
			for i := range holes {
				holes[i].region.Release()
			}
		}()
		if got, want := contents(t, p, holes), k.AppendTo([]byte("before")); !bytes.Equal(got, want) {
			t.Errorf("v%d\n got % x\nwant % x", version, got, want)
		}
	})
}

// A readFS counts what is read of the files, and whether it holds the payload.
type readFS struct {
	disk.FS
	payload []byte
	mu      sync.Mutex
	bytes   int64
	leaked  bool
	open    int
}

type readFile struct {
	disk.File
	fs *readFS
}

func (f *readFS) OpenFile(name string, flag int, perm fileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.open++
	f.mu.Unlock()
	return readFile{file, f}, nil
}

func (f readFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.bytes += int64(n)
	f.fs.leaked = f.fs.leaked || bytes.Contains(p[:n], f.fs.payload)
	return n, err
}

func (f readFile) Close() error {
	f.fs.mu.Lock()
	f.fs.open--
	f.fs.mu.Unlock()
	return f.File.Close()
}

// TestSend sends an answer over a real connection: it arrives whole, over TCP
// on Linux no payload comes through the process, and no file stays open.
func TestSend(t *testing.T) {
	const records, size = 200, 10_000
	fsys := &readFS{FS: disk.OS, payload: payload(size)[:64]}
	l := testLog(t, fsys, records, size)
	for _, tt := range []struct {
		name    string
		connect func(t *testing.T) (client, server net.Conn)
		through bool // the process
	}{
		{"tcp", tcpPair, !sendsFiles},
		{"pipe", func(t *testing.T) (net.Conn, net.Conn) { return net.Pipe() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, server := tt.connect(t)
			defer client.Close()
			defer server.Close()
			newAnswer := func() *answer {
				all, err := l.Read(0, 1<<30, storage.ToLogEnd, true)
				if err != nil {
					t.Fatal(err)
				}
				few, err := l.Read(7, 100, storage.ToLogEnd, true)
				if err != nil {
					t.Fatal(err)
				}
				f := &fetchAnswer{topics: []fetchAnswerTopic{{topic: "t", partitions: []fetchAnswerPartition{failedFetch(0, 0), failedFetch(1, 0), failedFetch(2, 3)}}}}
				f.topics[0].partitions[0].records = all.Data
				f.topics[0].partitions[1].records = few.Data
				a := &answer{buf: newBuffer(1)}
				a.buf.b, a.holes = f.appendTo([]byte{0, 0, 0, 0}, 4)
				a.finish()
				return a
			}
			a := newAnswer()
			fsys.mu.Lock()
			fsys.leaked = false // by the look-ups, which read headers
			fsys.mu.Unlock()
			sent := make(chan error, 1)
			go func() { sent <- a.send(newOutput(server), func() {}) }()
			got, err := readFrame(client)
			if err != nil {
				t.Fatal(err)
			}
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			a.release()
			fsys.mu.Lock()
			if fsys.leaked != tt.through {
				t.Errorf("payload read by the process: %v, want %v", fsys.leaked, tt.through)
			}
			fsys.mu.Unlock()
			b := newAnswer()
			want := contents(t, b.buf.b, b.holes)[4:]
			b.release()
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes arrived, want %d, or they differ", len(got), len(want))
			}
			answerCutOff(t, newAnswer(), tt.connect)
		})
	}
	l.Abandon(storage.ErrClosed)
	if fsys.open != 0 {
		t.Errorf("%d files are open after the log was closed", fsys.open)
	}
}

// answerCutOff sends an answer to a client that goes away in the middle.
func answerCutOff(t *testing.T, a *answer, connect func(t *testing.T) (client, server net.Conn)) {
	client, server := connect(t)
	sent := make(chan error, 1)
	go func() { sent <- a.send(newOutput(server), func() {}) }()
	if _, err := io.ReadFull(client, make([]byte, 1000)); err != nil {
		t.Error(err)
	}
	client.Close()
	if err := <-sent; err == nil {
		// The kernel may have taken all of it before the client was gone.
		t.Log("the answer was sent although the client had gone")
	}
	server.Close()
	a.release()
}

func tcpPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}
