package traffic

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// asAgent makes the test binary an agent.
const asAgent = "BRAID_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		if Agent(context.Background(), os.Args[1:], os.Stdin, os.Stdout) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// here starts agents on the machine itself, without a lab.
type here struct{ started []*exec.Cmd }

func (h *here) Start(_ string, cmd *exec.Cmd) error {
	h.started = append(h.started, cmd)
	return cmd.Start()
}

func loopback(last byte) End {
	return End{Host: "here", Addr: netip.AddrFrom4([4]byte{127, 0, 77, last})}
}

func runner(t *testing.T) (*Runner, *here) {
	t.Setenv(asAgent, "1")
	lab := new(here)
	return &Runner{Lab: lab, Command: []string{os.Args[0]}}, lab
}

func TestFlowOfEachKind(t *testing.T) {
	for _, kind := range append(Kinds, Bundle) {
		t.Run(string(kind), func(t *testing.T) {
			r, _ := runner(t)
			flow, err := r.Start(Spec{Kind: kind, Paths: 4, LineRate: 10e9}, loopback(1), loopback(2))
			if err != nil {
				if kind == MPTCP {
					t.Skip(err) // the kernel may lack it
				}
				t.Fatal(err)
			}
			// A busy machine takes its time with the first message.
			for deadline := time.Now().Add(10 * time.Second); flow.Delivered() == 0 && time.Now().Before(deadline); {
				time.Sleep(100 * ms)
			}
			result, err := flow.Stop()
			if err != nil {
				t.Fatal(err)
			}
			if result.Failure != "" || result.Messages == 0 || result.Sent != result.Messages || result.CPU == 0 {
				t.Errorf("%+v", result)
			}
			if bytes := result.Record.Bytes(result.Began, result.Ended+time.Second); bytes != result.Messages*64<<10 || flow.Delivered() != bytes {
				t.Errorf("%d bytes recorded of %d messages", bytes, result.Messages)
			}
		})
	}
}

// TestMessagesAlone: messages with a pause between them are timed.
func TestMessagesAlone(t *testing.T) {
	for _, kind := range []Kind{MP, RC, Bundle} {
		t.Run(string(kind), func(t *testing.T) {
			r, _ := runner(t)
			flow, err := r.Start(Spec{Kind: kind, Size: 1 << 20, Depth: 1, Paths: 4, LineRate: 10e9, Pause: ms}, loopback(9), loopback(10))
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(10 * time.Second); flow.Delivered() < 3<<20 && time.Now().Before(deadline); {
				time.Sleep(10 * ms)
			}
			result, err := flow.Stop()
			if err != nil {
				t.Fatal(err)
			}
			if n := len(result.Times); result.Failure != "" || n < 3 || uint64(n) != result.Messages || slices.Min(result.Times) <= 0 {
				t.Errorf("%d times of %d messages: %+v", n, result.Messages, result)
			}
		})
	}
}

func TestAgentThatDiesIsAnError(t *testing.T) {
	r, lab := runner(t)
	flow, err := r.Start(Spec{Kind: MP, Paths: 2}, loopback(3), loopback(4))
	if err != nil {
		t.Fatal(err)
	}
	_ = lab.started[0].Process.Kill() // the receiver
	if _, err := flow.Stop(); !errors.Is(err, ErrAgent) {
		t.Errorf("%v, want ErrAgent", err)
	}
}

func TestAgentsSayWhatIsWrong(t *testing.T) {
	r, _ := runner(t)
	tests := map[string]struct {
		spec     Spec
		from, to End
		want     string
	}{
		"kind":    {Spec{Kind: "pigeon"}, loopback(5), loopback(6), "pigeon"},
		"size":    {Spec{Kind: MP, Size: 1}, loopback(5), loopback(6), "size 1"},
		"control": {Spec{Kind: TCP, Control: "luck"}, loopback(5), loopback(6), "luck"},
		"address": {Spec{Kind: TCP}, loopback(5), End{Host: "here", Addr: netip.MustParseAddr("192.0.2.1")}, "192.0.2.1"},
	}
	for name, test := range tests {
		flow, err := r.Start(test.spec, test.from, test.to)
		if !errors.Is(err, ErrAgent) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want ErrAgent with %q", name, err, test.want)
		}
		if flow != nil {
			flow.Close()
		}
	}
}

// TestAgentsEndWithTheirParent closes what a parent that is killed leaves closed.
func TestAgentsEndWithTheirParent(t *testing.T) {
	r, lab := runner(t)
	flow, err := r.Start(Spec{Kind: MP, Paths: 2}, loopback(7), loopback(8))
	if err != nil {
		t.Fatal(err)
	}
	defer flow.Close()
	_ = flow.sender.stdin.Close()
	_ = flow.receiver.stdin.Close()
	for _, cmd := range lab.started {
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			t.Error("an agent lives on without its parent")
		}
	}
}
