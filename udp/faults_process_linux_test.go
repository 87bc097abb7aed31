package udp

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"syscall"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// TestTwoProcesses moves data between two processes of one host that know
// nothing of each other but what they exchange to connect.
func TestTwoProcesses(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const size = 3 << 20
			a := openEnd(t, Config{}, verbs.QPOptions{Type: kind}, size)
			peer := startPeer(t)
			remote := connectPeer(peer, a, []*verbs.QP{a.qp}, openOrder{Type: kind, RecvDepth: 16, Memory: size})
			fill(a.mr.Bytes(), 5)
			noError(t, a.qp.PostSend(numbered(a, &remote, 0, 0, size)))
			a.wait()
			eventually(t, "the second process received", func() bool { return peer.tell(order{}).Received == 1 })
			if got := peer.tell(order{}); got.Sum != crc32.ChecksumIEEE(a.mr.Bytes()) || got.Wrong+got.Failed != 0 {
				t.Errorf("the second process: %+v", got)
			}
			peer.tell(order{Write: &writeOrder{Addr: a.mr.Addr() + 64, RKey: a.mr.RKey()}})
			var word [8]byte
			noError(t, a.mr.Load(64, word[:]))
			if string(word[:]) != "00000000" {
				t.Errorf("the second process wrote %q", word)
			}
		})
	}
}

// numbered is a WRITE of size bytes, with the number in its immediate data.
func numbered(a *end, remote *account, number, offset, size int) *verbs.SendWR {
	return &verbs.SendWR{
		ID: uint64(number), Op: verbs.OpWriteImm, Flags: verbs.Signaled, Imm: uint32(number),
		SGEs:       []verbs.SGE{a.mr.SGE(offset, size)},
		RemoteAddr: remote.Addr + uint64(offset), RKey: remote.RKey,
	}
}

// TestThousandConnections connects two processes a thousand times and moves
// data both ways on each connection.
func TestThousandConnections(t *testing.T) {
	start := time.Now()
	connections := 1000
	if testing.Short() || raceEnabled { // it needs ten times the processor, in both processes
		connections = 200
	}
	const size = 8192
	a := openEnd(t, Config{}, verbs.QPOptions{Type: verbs.MP}, 2*size*connections)
	cq, err := a.dev.CreateCQ(1 << 14)
	noError(t, err)
	a.cq = cq
	files := openFiles()
	qps := make([]*verbs.QP, connections)
	for i := range qps {
		qps[i], err = a.pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: cq, SendDepth: 16, RecvDepth: 4, Conn: verbs.ConnOptions{AckTimeout: 2 * time.Second}}) // a busy machine takes its time with a thousand
		noError(t, err)
	}
	peer := startPeer(t)
	remote := connectPeer(peer, a, qps, openOrder{Type: verbs.MP, RecvDepth: 4, Memory: size * connections})
	fill(a.mr.Bytes(), 9)
	for round := range 3 {
		for i, qp := range qps {
			noError(t, qp.PostSend(numbered(a, &remote, round, i*size, size)))
		}
		for range qps {
			a.wait()
		}
	}
	goal := 3 * connections
	eventually(t, "every connection delivered", func() bool { return peer.tell(order{}).Received == goal })
	peer.tell(order{Write: &writeOrder{Addr: a.mr.Addr() + uint64(size*connections), RKey: a.mr.RKey()}})
	for i := range qps {
		var word [8]byte
		noError(t, a.mr.Load(size*connections+8*i, word[:]))
		if string(word[:]) != fmt.Sprintf("%08d", i) {
			t.Fatalf("connection %d brought %q back", i, word)
		}
	}
	report := peer.tell(order{})
	if report.Sum != crc32.ChecksumIEEE(a.mr.Bytes()[:size*connections]) || report.Wrong+report.Failed != 0 {
		t.Errorf("the second process: wrong %d, failed %d, sum %#x", report.Wrong, report.Failed, report.Sum)
	}
	// Files follow the source ports of a device, not its connections.
	if now := openFiles(); now > files+defaultSourcePorts || report.Files > 64+defaultSourcePorts {
		t.Errorf("file descriptors: %d before, %d now; %d in the second process", files, now, report.Files)
	}
	if d := time.Since(start); d > 2*patience {
		t.Errorf("it took %v", d)
	}
}

// TestFault22PeerKilled kills the peer in the middle of a transfer: every
// request completes once, the first with the reason, the others as flushed.
func TestFault22PeerKilled(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const depth, size = 64, 1 << 20
			o := verbs.QPOptions{Type: kind, SendDepth: depth, Conn: verbs.ConnOptions{RetryCount: 5}}
			a := openEnd(t, Config{}, o, size)
			peer := startPeer(t)
			remote := connectPeer(peer, a, []*verbs.QP{a.qp}, openOrder{Type: kind, RecvDepth: 128, Memory: size})
			next := 0
			for deadline := time.Now().Add(100 * time.Millisecond); time.Now().Before(deadline); next++ {
				if next >= depth {
					a.wait()
				}
				noError(t, a.qp.PostSend(numbered(a, &remote, next, 0, size)))
			}
			peer.kill()
			killed := time.Now()
			// On a busy machine all may have arrived before the peer was dead. Then
			// there is room for one more, which can not.
			var early [depth]verbs.Completion
			arrived, err := a.cq.Poll(early[:])
			noError(t, err)
			left := min(next, depth) - arrived
			var statuses []error
			for _, c := range early[:arrived] {
				if err := c.Err(); err != nil {
					statuses = append(statuses, err)
				}
			}
			if arrived > 0 {
				noError(t, a.qp.PostSend(numbered(a, &remote, next, 0, size)))
				left++
			}
			for range left {
				c, err := a.outcome(patience)
				if err != nil {
					t.Fatalf("after %d of %d completions: %v", len(statuses), depth, err)
				}
				if err := c.Err(); err != nil {
					statuses = append(statuses, err)
				}
			}
			if len(statuses) == 0 || !errors.Is(statuses[0], verbs.ErrRetryExceeded) {
				t.Fatalf("%d failures: %v", len(statuses), statuses)
			}
			for _, err := range statuses[1:] {
				if !errors.Is(err, verbs.ErrFlushed) {
					t.Errorf("later failure: %v", err)
				}
			}
			if d := time.Since(killed); d > 15*time.Second {
				t.Errorf("it took %v to notice", d)
			}
			if a.qp.State() != verbs.Err {
				t.Errorf("state %v", a.qp.State())
			}
			if c, err := a.outcome(20 * time.Millisecond); err == nil {
				t.Errorf("one completion too many: %+v", c)
			}
		})
	}
}

// outcome returns the next completion, whatever its status.
func (s *end) outcome(limit time.Duration) (verbs.Completion, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var out [1]verbs.Completion
	_, err := s.cq.Wait(ctx, out[:])
	return out[0], err
}

// TestFault23PeerRestarted puts a new process in the place of the old one, at
// the same address: it refuses what was meant for the old, and a new connection
// to it works.
func TestFault23PeerRestarted(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			o := verbs.QPOptions{Type: kind}
			a := openEnd(t, Config{}, o, 1<<16)
			first := startPeer(t)
			old := connectPeer(first, a, []*verbs.QP{a.qp}, openOrder{Type: kind, RecvDepth: 8, Memory: 1 << 16})
			noError(t, a.qp.PostSend(numbered(a, &old, 0, 0, 1<<16)))
			a.wait()
			first.kill()

			second := startPeer(t)
			qp, err := a.pd.CreateQP(verbs.QPOptions{Type: kind, SendCQ: a.cq, Conn: o.Conn})
			noError(t, err)
			now := connectPeer(second, a, []*verbs.QP{qp}, openOrder{Addr: old.Params[0].Addr, Type: kind, RecvDepth: 8, Memory: 1 << 16})
			before := now.Sum
			noError(t, a.qp.PostSend(numbered(a, &old, 1, 0, 4096)))
			if c, err := a.outcome(patience); err != nil || !errors.Is(c.Err(), verbs.ErrRetryExceeded) {
				t.Fatalf("on the old connection: %+v, %v", c, err)
			}
			if report := second.tell(order{}); report.Received+report.Failed != 0 || report.Sum != before {
				t.Fatalf("the new process was touched: %+v", report)
			}
			noError(t, qp.PostSend(numbered(a, &now, 0, 0, 1<<16)))
			a.wait()
			stale := now
			stale.RKey = old.RKey
			noError(t, qp.PostSend(numbered(a, &stale, 1, 0, 64)))
			if c, err := a.outcome(patience); err != nil || !errors.Is(c.Err(), verbs.ErrRemoteAccess) {
				t.Fatalf("with the old key: %+v, %v", c, err)
			}
		})
	}
}

// TestFault25PeerStopped stops the peer for a second in the middle of a
// transfer. Less than the retry time, so all is executed, and once.
func TestFault25PeerStopped(t *testing.T) {
	for _, kind := range []verbs.QPType{verbs.RC, verbs.MP} {
		t.Run(kind.String(), func(t *testing.T) {
			const depth, size = 16, 64 << 10
			a := openEnd(t, Config{}, verbs.QPOptions{Type: kind, SendDepth: depth, Conn: verbs.ConnOptions{AckTimeout: time.Second}}, size)
			peer := startPeer(t)
			remote := connectPeer(peer, a, []*verbs.QP{a.qp}, openOrder{Type: kind, RecvDepth: 64, Memory: size})
			stopped := make(chan struct{})
			go func() {
				defer close(stopped)
				time.Sleep(50 * time.Millisecond)
				_ = peer.cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(time.Second)
				_ = peer.cmd.Process.Signal(syscall.SIGCONT)
			}()
			posted, done := 0, 0
			for deadline := time.Now().Add(1200 * time.Millisecond); time.Now().Before(deadline) || done < posted; {
				if posted-done < depth && time.Now().Before(deadline) {
					noError(t, a.qp.PostSend(numbered(a, &remote, posted, 0, size)))
					posted++
					continue
				}
				a.wait()
				done++
			}
			<-stopped
			eventually(t, "everything was received", func() bool { return peer.tell(order{}).Received >= posted })
			if report := peer.tell(order{}); report.Received != posted || report.Wrong+report.Failed != 0 {
				t.Errorf("%d posted; the second process: %+v", posted, report)
			}
		})
	}
}
