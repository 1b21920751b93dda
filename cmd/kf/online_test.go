package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"kf/internal/timearg"
)

// onlineCommands are those of scripts about commands for clusters:
//
//	serve [args...]                       starts "kf serve" on a free port, for this script, as the cluster that
//	                                      kf asks from now on
//	produce TOPIC PARTITION COUNT [TIME]  appends records with values 0, 1, …, of this time
//	commit GROUP TOPIC:PARTITION=OFFSET...
//	join PROTOCOL GROUP CLIENT TOPIC...   a consumer that stays in the group until the script ends, once it has
//	                                      partitions; the protocol is classic or consumer
//	leave CLIENT                          makes a consumer leave its group
//	silent NAME                           sets a variable to an address that takes connections and answers nothing
//	refusing NAME                         sets a variable to an address that refuses connections
var onlineCommands = map[string]func(*testscript.TestScript, bool, []string){
	"serve": serveScript, "produce": produceScript, "commit": commitScript, "join": joinScript, "leave": leaveScript,
	"silent": silentScript, "refusing": refusingScript,
}

func silentScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: silent NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // the system takes connections until it has a queue of them
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func refusingScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refusing NAME")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv(args[0], l.Addr().String())
}

func serveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: serve [args...]")
	}
	log, err := os.CreateTemp(ts.MkAbs("."), "serve-*.log")
	ts.Check(err)
	defer log.Close()
	cmd := exec.Command("kf", append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		ts.Fatalf("kf serve: %v\n%s", err, text)
	}
	words := strings.Fields(line)
	ts.Setenv("KF_BOOTSTRAP_SERVERS", words[len(words)-1])
	go io.Copy(io.Discard, stdout) // ends with the process
}

// scriptClient returns a client of the cluster of the script.
func scriptClient(ts *testscript.TestScript, opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(ts.Getenv("KF_BOOTSTRAP_SERVERS"))}, opts...)...)
	ts.Check(err)
	return cl
}

func scriptContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Minute)
}

func scriptNumber(ts *testscript.TestScript, s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	ts.Check(err)
	return n
}

func produceScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 && len(args) != 4 {
		ts.Fatalf("usage: produce TOPIC PARTITION COUNT [TIME]")
	}
	at := time.Now()
	if len(args) == 4 {
		var err error
		at, err = timearg.Parse(args[3], at)
		ts.Check(err)
	}
	var records []*kgo.Record
	for i := range scriptNumber(ts, args[2]) {
		records = append(records, &kgo.Record{
			Topic: args[0], Partition: int32(scriptNumber(ts, args[1])), Timestamp: at, Value: strconv.AppendInt(nil, i, 10),
		})
	}
	cl := scriptClient(ts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	ctx, cancel := scriptContext()
	defer cancel()
	ts.Check(cl.ProduceSync(ctx, records...).FirstErr())
}

func commitScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: commit GROUP TOPIC:PARTITION=OFFSET...")
	}
	offsets := make(kadm.Offsets)
	for _, arg := range args[1:] {
		topic, rest, _ := strings.Cut(arg, ":")
		partition, offset, _ := strings.Cut(rest, "=")
		offsets.AddOffset(topic, int32(scriptNumber(ts, partition)), scriptNumber(ts, offset), -1)
	}
	cl := scriptClient(ts)
	defer cl.Close()
	ctx, cancel := scriptContext()
	defer cancel()
	ts.Check(kadm.NewClient(cl).CommitAllOffsets(ctx, args[0], offsets))
}

func joinScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: join PROTOCOL GROUP CLIENT TOPIC...")
	}
	assigned := make(chan struct{}, 1)
	opts := []kgo.Opt{
		kgo.ConsumerGroup(args[1]), kgo.ClientID(args[2]), kgo.ConsumeTopics(args[3:]...), kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			if len(partitions) > 0 {
				select {
				case assigned <- struct{}{}:
				default:
				}
			}
		}),
	}
	ctx, cancel := scriptContext()
	defer cancel()
	if args[0] == "consumer" {
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	}
	cl := scriptClient(ts, opts...)
	ts.Defer(cl.Close)
	scriptConsumers(ts)[args[2]] = cl
	select {
	case <-assigned:
	case <-ctx.Done():
		ts.Fatalf("%s gets no partitions", args[2])
	}
}

func leaveScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leave CLIENT")
	}
	scriptConsumers(ts)[args[0]].Close()
}

type consumersKey struct{}

// scriptConsumers returns the consumers of the script by client id.
func scriptConsumers(ts *testscript.TestScript) map[string]*kgo.Client {
	return ts.Value(consumersKey{}).(map[string]*kgo.Client)
}
