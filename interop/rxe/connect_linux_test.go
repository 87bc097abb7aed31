package rxe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/interop/rping"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// openManaged opens a device with a connection manager.
func openManaged(t *testing.T) (*verbs.Device, *cm.Manager) {
	t.Helper()
	d := openDevice(t)
	m, err := cm.New(d, cm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return d, m
}

func guestPort(port int) string { return net.JoinHostPort(guestAddr.String(), strconv.Itoa(port)) }

// dialListener dials a program in the machine once it listens. To dial until it does would be easier, but rping takes one
// request and no other, and of those that were refused copies may be on their way.
func dialListener(ctx context.Context, t *testing.T, m *cm.Manager, port int, options cm.Options) *cm.Conn {
	t.Helper()
	for ctx.Err() == nil && !strings.Contains(run(t, playTime, "rdma", "resource", "show", "cm_id", "src-port", strconv.Itoa(port)), "state LISTEN") {
		time.Sleep(20 * time.Millisecond)
	}
	conn, err := m.Dial(ctx, guestPort(port), options)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

const pings = 20

func TestRping(t *testing.T) {
	for _, size := range []int{64, 20000} {
		t.Run(fmt.Sprint("braid is server, ", size, " bytes"), func(t *testing.T) { rpingServer(t, size) })
		t.Run(fmt.Sprint("braid is client, ", size, " bytes"), func(t *testing.T) { rpingClient(t, size) })
	}
}

func rpingServer(t *testing.T, size int) {
	d, m := openManaged(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	end, err := rping.NewEnd(d)
	if err != nil {
		t.Fatal(err)
	}
	end.AckTimeout = longTimeout
	listener, err := m.Listen(rping.Port)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept(ctx, end.Options())
		if err != nil {
			served <- err
			return
		}
		n, err := end.Serve(ctx, conn)
		if err == nil && n != pings {
			err = fmt.Errorf("%d pings, not %d", n, pings)
		}
		served <- err
	}()
	output, err := guest(t).Run(ctx, "rping", "-c", "-a", hostAddr.String(), "-V", "-v", "-C", strconv.Itoa(pings), "-S", strconv.Itoa(size))
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, <-served); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(output, "ping data: "); n != pings {
		t.Errorf("rping saw %d replies of %d", n, pings)
	}
}

func rpingClient(t *testing.T, size int) {
	d, m := openManaged(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	end, err := rping.NewEnd(d)
	if err != nil {
		t.Fatal(err)
	}
	end.AckTimeout = longTimeout
	program, err := guest(t).Start(ctx, "rping", "-s", "-a", guestAddr.String(), "-V", "-v", "-S", strconv.Itoa(size))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Kill()
	program.Discard()
	conn := dialListener(ctx, t, m, rping.Port, end.Options())
	if err := end.Ping(ctx, pings, size); err != nil {
		t.Fatalf("%v; connection: %v\n%s", err, conn.Err(), program.Output())
	}
	conn.Close()
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(program.Output(), "server ping data: "); n != pings {
		t.Errorf("rping saw %d pings of %d", n, pings)
	}
}

// The port of rdma_server, and the length of the one message that each end sends.
const (
	rdmaServerPort = 7471
	rdmaMessage    = 16
)

// messageEnd is one end of the exchange of rdma_client and rdma_server.
type messageEnd struct {
	cq *verbs.CQ
	mr *verbs.MR
	pd *verbs.PD
}

func newMessageEnd(t *testing.T, d *verbs.Device) *messageEnd {
	t.Helper()
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := d.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	mr, err := pd.AllocMemory(2*rdmaMessage, verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	return &messageEnd{cq: cq, mr: mr, pd: pd}
}

// options ask for several paths: a standard peer is given one, and never notices.
func (e *messageEnd) options() cm.Options {
	return cm.Options{
		PD: e.pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, SignalAll: true, Conn: verbs.ConnOptions{AckTimeout: longTimeout}},
		Prepare: func(qp *verbs.QP) error {
			return qp.PostRecv(&verbs.RecvWR{SGEs: []verbs.SGE{e.mr.SGE(0, rdmaMessage)}})
		},
	}
}

func (e *messageEnd) send(conn *cm.Conn) error {
	return conn.QP().PostSend(&verbs.SendWR{Op: verbs.OpSend, SGEs: []verbs.SGE{e.mr.SGE(rdmaMessage, rdmaMessage)}})
}

// await waits for so many completions.
func (e *messageEnd) await(ctx context.Context, count int) error {
	var done [1]verbs.Completion
	for range count {
		if _, err := e.cq.Wait(ctx, done[:]); err != nil {
			return err
		}
		if err := done[0].Err(); err != nil {
			return err
		}
	}
	return nil
}

func TestRdmaClient(t *testing.T) {
	d, m := openManaged(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	end := newMessageEnd(t, d)
	listener, err := m.Listen(rdmaServerPort)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			conn, err := listener.Accept(ctx, end.options())
			if err != nil {
				return err
			}
			if kind := conn.QP().Type(); kind != verbs.RC {
				return fmt.Errorf("the queue pair has type %v", kind)
			}
			if err := end.await(ctx, 1); err != nil {
				return err
			}
			if err := end.send(conn); err != nil {
				return err
			}
			if err := end.await(ctx, 1); err != nil {
				return err
			}
			return conn.Close()
		}()
	}()
	output, err := guest(t).Run(ctx, "rdma_client", "-s", hostAddr.String())
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, <-served); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(output, "rdma_client: end 0") {
		t.Error(output)
	}
}

func TestRdmaServer(t *testing.T) {
	d, m := openManaged(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	end := newMessageEnd(t, d)
	program, err := guest(t).Start(ctx, "rdma_server", "-s", guestAddr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Kill()
	program.Discard()
	conn := dialListener(ctx, t, m, rdmaServerPort, end.options())
	if kind := conn.QP().Type(); kind != verbs.RC {
		t.Errorf("the queue pair has type %v", kind)
	}
	if err := end.send(conn); err != nil {
		t.Fatal(err)
	}
	if err := end.await(ctx, 2); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if err := program.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(program.Output(), "rdma_server: end 0") {
		t.Error(program.Output())
	}
}

// Nobody listens: the kernel's connection manager refuses, and ours does.
func TestNobodyListens(t *testing.T) {
	d, m := openManaged(t)
	ctx, cancel := context.WithTimeout(t.Context(), playTime)
	defer cancel()
	end := newMessageEnd(t, d)
	if _, err := m.Dial(ctx, guestPort(rdmaServerPort), end.options()); !errors.Is(err, cm.ErrRefused) {
		t.Errorf("the kernel: %v, want that nobody listens", err)
	}
	start := time.Now()
	if _, err := guest(t).Run(ctx, "rdma_client", "-s", hostAddr.String()); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("rdma_client against nobody: %v after %v", err, time.Since(start))
	}
	if s, _ := udp.StatsOf(d); s.PacketsReceived == 0 {
		t.Error("nothing of the kernel arrived")
	}
}
