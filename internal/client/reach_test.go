package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kf/internal/cli"
	"kf/internal/client"
)

// advertising is a broker that says broker 2, at another address, is the controller and
// leads partition 0 of topic t.
func advertising(t *testing.T, other string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(other)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, broker(func(key int16) kmsg.Response {
		switch key {
		case 18:
			return versions(map[int16]int16{2: 1, 3: 1, 18: 0, 19: 0})
		case 3:
			r := kmsg.NewPtrMetadataResponse()
			r.Version, r.ControllerID = 1, 2
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = 2, host, int32(n)
			r.Brokers = append(r.Brokers, b)
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Leader, p.Replicas, p.ISR = 2, []int32{2}, []int32{2}
			topic := kmsg.NewMetadataResponseTopic()
			topic.Topic, topic.Partitions = kmsg.StringPtr("t"), append(topic.Partitions, p)
			r.Topics = append(r.Topics, topic)
			return r
		}
		return nil
	}))
}

func newClient(t *testing.T, timeout time.Duration, pairs ...string) *client.Client {
	t.Helper()
	cl, err := client.New(client.Options{Properties: props(pairs...), Version: "test", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// The bootstrap server answers, but the broker that is needed has an address that
// cannot be reached from here: the message names it, whoever sends the request.
func TestAdvertisedUnreachable(t *testing.T) {
	refused := closedPort(t)
	for _, tt := range []struct{ other, want string }{
		{refused, "cannot connect to broker 2 at " + refused + ", the address in its advertised.listeners: connection refused: is the broker down, or does it advertise an address that is not for here?"},
		{"kafka-2.invalid:9092", "cannot connect to broker 2 at kafka-2.invalid:9092, the address in its advertised.listeners: "},
	} {
		cl := newClient(t, time.Minute, "bootstrap.servers", advertising(t, tt.other))
		_, err := cl.ListOffsets(t.Context(), client.Latest, false, kadm.TopicsSet{"t": {0: {}}})
		_, toController := cl.CreateTopic(t.Context(), 1, 1, nil, "new")
		for _, err := range []error{err, toController} {
			explained := cl.Explain(t.Context(), err)
			if explained == nil || !strings.HasPrefix(explained.Error(), tt.want) {
				t.Errorf("%v, want %s", explained, tt.want)
			}
			if code := cli.ExitCode(explained); code != cli.ExitFailed {
				t.Errorf("exit code %d", code)
			}
		}
		if tt.other == refused && !errors.Is(cl.Explain(t.Context(), toController), syscall.ECONNREFUSED) {
			t.Errorf("%v does not wrap its cause", toController)
		}
	}
}

// A broker that does not answer a request: the message says which, and what was asked.
func TestDeadline(t *testing.T) {
	slow := serve(t, broker(func(key int16) kmsg.Response {
		if key == 18 {
			return versions(map[int16]int16{3: 1, 18: 0})
		}
		<-t.Context().Done()
		return nil
	}))
	cl := newClient(t, 200*time.Millisecond, "bootstrap.servers", slow)
	ctx, cancel := cl.Deadline(t.Context())
	defer cancel()
	_, err := cl.ListTopics(ctx)
	explained := cl.Explain(ctx, err)
	if explained == nil || !strings.HasPrefix(explained.Error(), "no answer within 200ms: "+slow+" has not answered Metadata") {
		t.Errorf("%v", explained)
	}
	if !errors.Is(explained, context.DeadlineExceeded) || cli.ExitCode(explained) != cli.ExitTimeout {
		t.Errorf("%v: exit code %d", explained, cli.ExitCode(explained))
	}
	if again := cl.Explain(ctx, explained); again.Error() != explained.Error() {
		t.Errorf("explained twice: %v", again)
	}
}

// A bootstrap server that says nothing does not keep the others from being asked, and
// one that is there at last is found.
func TestBootstrapTogether(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	late := l.Addr().String()
	l.Close()
	good := fakeBroker(t)
	for range 5 { // the order is random
		cl := newClient(t, time.Minute, "bootstrap.servers", closedPort(t)+","+good+",nosuch.invalid:1")
		if _, err := cl.ListTopics(t.Context()); err != nil {
			t.Fatal(cl.Explain(t.Context(), err))
		}
	}
	var tries atomic.Int32
	go func() {
		time.Sleep(100 * time.Millisecond) // mostly a first try was refused by then; that is no condition
		l, err := net.Listen("tcp", late)
		if err != nil {
			return
		}
		t.Cleanup(func() { l.Close() })
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tries.Add(1)
			go func() {
				defer c.Close()
				broker(func(key int16) kmsg.Response {
					if key == 18 {
						return versions(map[int16]int16{3: 1, 18: 0})
					}
					r := kmsg.NewPtrMetadataResponse()
					r.Version = 1
					return r
				})(c)
			}()
		}
	}()
	cl := newClient(t, time.Minute, "bootstrap.servers", late)
	cl.SetPatience(time.Minute)
	if _, err := cl.ListTopics(t.Context()); err != nil {
		t.Error(cl.Explain(t.Context(), err))
	}
	if n := tries.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Who resets each connection is tried a few times, not for the minute that there is.
func TestNoStorm(t *testing.T) {
	var tries atomic.Int32
	resets := serve(t, func(c net.Conn) {
		tries.Add(1)
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	cl := newClient(t, time.Minute, "bootstrap.servers", resets)
	if _, err := cl.ListTopics(t.Context()); err == nil {
		t.Error("no error")
	}
	if n := tries.Load(); n > 12 {
		t.Errorf("%d connections", n)
	}
}

// Several errors of a command are explained each, and said once.
func TestExplainJoined(t *testing.T) {
	refused := closedPort(t)
	cl := newClient(t, 2*time.Second, "bootstrap.servers", refused)
	_, err := cl.ListTopics(t.Context())
	other := errors.New("something else")
	explained := cl.Explain(t.Context(), errors.Join(err, other, err))
	lines := strings.Split(explained.Error(), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "cannot connect to "+refused) || !errors.Is(explained, other) {
		t.Errorf("%q", lines)
	}
	if cl.Explain(t.Context(), nil) != nil || cl.Explain(t.Context(), other) != other {
		t.Error("what is no error of a connection changes")
	}
}

// Who takes the connection and says nothing gets one text, whatever was asked, without
// the times of single questions and the words of Go.
func TestSilentIsOneText(t *testing.T) {
	silent := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	want := "cannot talk to " + silent + " (from client.properties: line 3): it takes the connection, but does not answer within 300ms: is it the port of a Kafka broker?"
	for name, ask := range map[string]func(context.Context, *client.Client) error{
		"nodes":  func(ctx context.Context, cl *client.Client) error { _, err := cl.Nodes(ctx, true); return err },
		"topics": func(ctx context.Context, cl *client.Client) error { _, err := cl.ListTopics(ctx); return err },
		"groups": func(ctx context.Context, cl *client.Client) error {
			_, err := cl.Groups(ctx, client.GroupFilter{})
			return err
		},
		"offsets": func(ctx context.Context, cl *client.Client) error {
			_, err := cl.ListOffsets(ctx, client.Latest, false, kadm.TopicsSet{"t": {0: {}}})
			return err
		},
	} {
		cl := newClient(t, 300*time.Millisecond, "bootstrap.servers", silent)
		ctx, cancel := cl.Deadline(t.Context())
		err := cl.Explain(ctx, ask(ctx, cl))
		cancel()
		if err == nil || err.Error() != want || cli.ExitCode(err) != cli.ExitTimeout {
			t.Errorf("%s: %v (exit code %d), want %s", name, err, cli.ExitCode(err), want)
		}
	}
}

// A port that cannot be is wrong before anything is asked.
func TestPortOutOfRange(t *testing.T) {
	for _, port := range []string{"99999", "0", "x"} {
		_, err := client.New(client.Options{Properties: props("bootstrap.servers", "b:"+port)})
		if want := `client.properties: line 3: "b:` + port + `": a port is a number from 1 to 65535`; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
