package rxe

import (
	"testing"

	"github.com/braid-rdma/braid/verbs"
)

// The other end goes away in different ways, while a request is under way or
// before it is made: it must fail with a cause, and what is behind it be flushed.

func TestKernelGoesAway(t *testing.T) {
	for name, leave := range map[string]func(*couple){
		"the queue pair is destroyed":    func(c *couple) { c.kernel.ask("destroy %x", c.kqp.index) },
		"the queue pair is set to error": func(c *couple) { c.kernel.ask("error %x", c.kqp.index) },
		"the process ends":               func(c *couple) { c.kernel.exit() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCouple(t, coupleOptions{timeout: shortTimeout})
			operations[0].check(c, 5000, 1)
			leave(c)
			for range 3 {
				c.post(verbs.SendWR{Op: verbs.OpWrite}, 5000)
			}
			c.want(verbs.ErrRetryExceeded)
			c.want(verbs.ErrFlushed)
			c.want(verbs.ErrFlushed)
			wantBraidError(t, c)
		})
	}
}

func TestBraidGoesAway(t *testing.T) {
	for name, leave := range map[string]func(*couple){
		"the queue pair is closed":       func(c *couple) { _ = c.qp.Close() },
		"the queue pair is set to error": func(c *couple) { _ = c.qp.Modify(verbs.Err, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			// The kernel's driver takes 7 for no end at all.
			c := newCouple(t, coupleOptions{timeout: shortTimeout, retries: 3})
			operations[5].check(c, 5000, 1)
			leave(c)
			for range 3 {
				c.kpost(kernelWR{op: ibvWrite}, 5000)
			}
			c.kernel.want(ibvRetryExcErr)
			c.kernel.want(ibvFlushErr)
			c.kernel.want(ibvFlushErr)
			wantKernelError(t, c)
		})
	}
}

// Connections end and begin again on the same device, one after the other.
func TestReconnect(t *testing.T) {
	d := openDevice(t)
	for round := range 5 {
		c := newCouple(t, coupleOptions{device: d, timeout: shortTimeout})
		for i, o := range operations {
			o.check(c, 1500, byte(round*16+i))
		}
		if round%2 == 0 {
			_ = c.qp.Close()
		} else {
			c.kernel.exit()
		}
	}
}
