package udp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// childVariable in the environment makes the test binary a second process: it
// opens a device and obeys its parent, one line of JSON for each order and one
// for its answer. It ends when its standard input does.
const childVariable = "BRAID_UDP_TEST_CHILD"

// order is what the parent wants; the fields that are set say what.
type order struct {
	Open    *openOrder         `json:",omitempty"`
	Connect []verbs.ConnParams `json:",omitempty"`
	Write   *writeOrder        `json:",omitempty"`
}

// openOrder asks for queue pairs that share a completion queue and memory.
type openOrder struct {
	Addr      netip.Addr
	Type      verbs.QPType
	Pairs     int
	RecvDepth int
	Memory    int
}

// writeOrder asks every queue pair to write eight bytes of its own to the
// parent's memory, at its index times eight.
type writeOrder struct {
	Addr uint64
	RKey verbs.RKey
}

// account is the answer to every order: the state of the child.
type account struct {
	Error    string
	Params   []verbs.ConnParams
	Addr     uint64
	RKey     verbs.RKey
	Received int // receive completions
	Sent     int // send completions
	Wrong    int // received out of the order in which they were sent, or twice
	Failed   int // completions with an error
	Sum      uint32
	Files    int
}

// peerProcess is the second process as the parent sees it.
type peerProcess struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Reader
	end   sync.Once
}

func startPeer(t testing.TB) *peerProcess {
	t.Helper()
	p := &peerProcess{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childVariable+"=1")
	p.cmd.Stderr = os.Stderr
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	noError(t, err)
	stdout, err := p.cmd.StdoutPipe()
	noError(t, err)
	p.lines = bufio.NewReader(stdout)
	noError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p
}

// kill ends the process without a warning, as SIGKILL does.
func (p *peerProcess) kill() {
	p.end.Do(func() {
		_ = p.cmd.Process.Kill()
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
	})
}

// tell gives an order and returns the child's account.
func (p *peerProcess) tell(o order) account {
	p.t.Helper()
	line, err := json.Marshal(o)
	noError(p.t, err)
	_, err = p.stdin.Write(append(line, '\n'))
	noError(p.t, err)
	answer, err := p.lines.ReadBytes('\n')
	noError(p.t, err)
	var a account
	noError(p.t, json.Unmarshal(answer, &a))
	if a.Error != "" {
		p.t.Fatalf("the second process: %s", a.Error)
	}
	return a
}

// connectPeer opens queue pairs in the second process and connects them to
// local ones, which share the completion queue of the end.
func connectPeer(p *peerProcess, local *end, qps []*verbs.QP, o openOrder) account {
	p.t.Helper()
	o.Pairs = len(qps)
	opened := p.tell(order{Open: &o})
	mine := make([]verbs.ConnParams, len(qps))
	for i, qp := range qps {
		mine[i] = qp.Params()
	}
	p.tell(order{Connect: mine})
	for i, qp := range qps {
		noError(p.t, qp.Connect(opened.Params[i]))
	}
	return opened
}

// servant is the state of the second process.
type servant struct {
	dev  *verbs.Device
	cq   *verbs.CQ
	mr   *verbs.MR
	qps  []*verbs.QP
	next map[verbs.QPN]uint32 // the immediate data that is due

	received, sent, wrong, failed atomic.Int64
}

// serveParent is the main function of the second process.
func serveParent(in io.Reader, out io.Writer) int {
	var s servant
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return 0 // the parent is gone, or wants no more
		}
		a, err := s.obey(&o)
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return 1
		}
	}
}

func (s *servant) obey(o *order) (account, error) {
	var err error
	switch {
	case o.Open != nil:
		err = s.open(o.Open)
	case o.Connect != nil:
		err = s.connect(o.Connect)
	case o.Write != nil:
		err = s.write(o.Write)
	}
	return s.account(), err
}

func (s *servant) open(o *openOrder) (err error) {
	if s.dev, err = Open(Config{Addr: o.Addr}); err != nil {
		return err
	}
	pd, err := s.dev.CreatePD()
	if err != nil {
		return err
	}
	if s.cq, err = s.dev.CreateCQ(1 << 14); err != nil {
		return err
	}
	if s.mr, err = pd.AllocMemory(o.Memory, allRights); err != nil {
		return err
	}
	s.next = make(map[verbs.QPN]uint32)
	for range o.Pairs {
		qp, err := pd.CreateQP(verbs.QPOptions{
			Type: o.Type, SendCQ: s.cq, SendDepth: 16, RecvDepth: o.RecvDepth,
			Conn: verbs.ConnOptions{AckTimeout: 2 * time.Second}, // a busy machine takes its time with a thousand
		})
		if err != nil {
			return err
		}
		s.qps = append(s.qps, qp)
		if err := errors.Join(qp.Prepare(), s.offer(qp, o.RecvDepth)); err != nil {
			return err
		}
	}
	go s.collect()
	return nil
}

func (s *servant) offer(qp *verbs.QP, receives int) error {
	for range receives {
		if err := qp.PostRecv(&verbs.RecvWR{}); err != nil {
			return err
		}
	}
	return nil
}

func (s *servant) connect(params []verbs.ConnParams) error {
	for i, p := range params {
		if err := s.qps[i].Connect(p); err != nil {
			return err
		}
	}
	return nil
}

// write has every queue pair write, and waits until all have.
func (s *servant) write(o *writeOrder) error {
	goal := s.sent.Load() + int64(len(s.qps))
	for i, qp := range s.qps {
		err := qp.PostSend(&verbs.SendWR{
			Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: fmt.Appendf(nil, "%08d", i),
			RemoteAddr: o.Addr + uint64(8*i), RKey: o.RKey,
		})
		if err != nil {
			return err
		}
	}
	for deadline := time.Now().Add(patience); s.sent.Load() < goal; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("only %d of %d writes completed, %d requests failed", s.sent.Load(), goal, s.failed.Load())
		}
	}
	return nil
}

// collect counts completions. The parent numbers what it sends to each queue
// pair in the immediate data, so that nothing can come twice unseen.
func (s *servant) collect() {
	byNumber := make(map[verbs.QPN]*verbs.QP)
	for _, qp := range s.qps {
		byNumber[qp.Number()] = qp
	}
	var out [64]verbs.Completion
	for {
		n, err := s.cq.Wait(context.Background(), out[:])
		if err != nil {
			return
		}
		for _, c := range out[:n] {
			switch {
			case c.Err() != nil:
				s.failed.Add(1)
			case c.Op != verbs.OpRecv && c.Op != verbs.OpRecvWriteImm:
				s.sent.Add(1)
			default:
				if c.Imm != s.next[c.QPN] {
					s.wrong.Add(1)
				}
				s.next[c.QPN] = c.Imm + 1
				s.received.Add(1)
				_ = byNumber[c.QPN].PostRecv(&verbs.RecvWR{})
			}
		}
	}
}

func (s *servant) account() account {
	a := account{
		Received: int(s.received.Load()), Sent: int(s.sent.Load()), Wrong: int(s.wrong.Load()), Failed: int(s.failed.Load()),
		Addr: s.mr.Addr(), RKey: s.mr.RKey(), Files: openFiles(),
	}
	for _, qp := range s.qps {
		a.Params = append(a.Params, qp.Params())
	}
	memory := make([]byte, s.mr.Len())
	if s.mr.Load(0, memory) == nil {
		a.Sum = crc32.ChecksumIEEE(memory)
	}
	return a
}

// openFiles is the number of file descriptors of this process.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}
