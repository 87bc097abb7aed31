package sim

import (
	"github.com/braid-rdma/braid/sim/internal/hook"
	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/wire"
)

func init() {
	hook.Decorate = func(network any, host int, number wire.QPN, layer func(transport.QP) transport.QP) {
		n := network.(*Network)
		n.undivide()
		c := n.hosts[host].conns.find(number)
		c.qp = layer(c.qp)
	}
	hook.DecorateDetours = func(network any, layers hook.Detours) { network.(*Network).layers = layers }
	hook.LoseResume = func(network any, count int) {
		n := network.(*Network)
		n.undivide()
		for _, sw := range n.switches {
			if sw != nil {
				sw.cfg.PFC.Quanta = EndlessPause
			}
		}
		for _, lane := range n.lanes {
			lane.extras().spoil = func(kind pauseFrame) bool {
				if kind == pauseOn {
					count--
				}
				return kind == pauseOn && count == 0
			}
		}
	}
}
