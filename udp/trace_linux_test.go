package udp

import (
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/verbs"
)

// reasons counts why nothing is sent.
type reasons [32]atomic.Int32

func (r *reasons) Trace(_ transport.Time, e transport.TraceEvent) {
	if e.Kind == transport.TraceBlocked {
		r[e.Reason].Add(1)
	}
}

// A socket that takes nothing more is the reason why a queue pair sends nothing.
func TestTraceTellsOfBackpressure(t *testing.T) {
	const size = 2 << 20
	var why reasons
	a, b := connect(t, Config{}, verbs.QPOptions{Type: verbs.RC, Trace: &why}, size)
	e := engineOf(a.dev)
	var open atomic.Bool
	hookSends(e, func(path int, messages []mmsghdr) (int, unix.Errno) {
		if !open.Load() {
			return 0, unix.ENOBUFS
		}
		return sendmmsg(pathFD(e, path), messages)
	})
	noError(t, a.qp.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{a.mr.SGE(0, size)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	}))
	eventually(t, "the reason is told", func() bool { return why[transport.ReasonBackpressure].Load() > 0 })
	open.Store(true)
	a.wait()
}
