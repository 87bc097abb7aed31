// Command policy shows the two seams for research: which path a packet takes
// and how many packets may be in flight. It adds a path policy of its own to
// those that braid has, moves the same data under each of them, or under those
// whose names it is given, and prints what each path carried.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"github.com/braid-rdma/braid/transport"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const paths, size = 4, 8 << 20

// weighted is a path policy: path p carries p+1 shares. It is called with the
// queue pair's owner locked, so it needs no lock, and may keep any state.
type weighted struct {
	out  [paths]bool // paths that the transport has taken out of use
	path transport.Path
	left int // packets until the next path has its turn
	run  int // packets of a share: runs on one path leave in one system call
}

func newWeighted(_ int, o *transport.MPOptions, _ *rand.Rand) transport.PathPolicy {
	return &weighted{run: o.Run, left: o.Run}
}

// Next returns the path of the next packet. One path is always in use.
func (w *weighted) Next() transport.Path {
	for w.left == 0 || w.out[w.path] {
		w.path = (w.path + 1) % paths
		w.left = w.run * int(w.path+1)
	}
	w.left--
	return w.path
}

// Feedback tells what became of packets; this policy does not care.
func (w *weighted) Feedback(transport.Path, transport.Signal, int) {}

// AckClocked says that packets go as soon as the window is open.
func (w *weighted) AckClocked() bool { return false }

// SetUsable is told that a path was retired or restored.
func (w *weighted) SetUsable(p transport.Path, usable bool) { w.out[p] = !usable }

// open makes a device with a queue pair that has the given options.
func open(mp verbs.MPOptions) (*verbs.Device, *verbs.CQ, *verbs.MR, *verbs.QP) {
	dev, err := udp.Open(udp.Config{Paths: paths})
	if err != nil {
		log.Fatal("open a device: ", err)
	}
	pd, err1 := dev.CreatePD()
	cq, err2 := dev.CreateCQ(16)
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal("create a protection domain and a completion queue: ", err)
	}
	mr, err1 := pd.AllocMemory(size, verbs.LocalWrite|verbs.RemoteWrite)
	qp, err2 := pd.CreateQP(verbs.QPOptions{Type: verbs.MP, SendCQ: cq, MP: mp})
	if err := errors.Join(err1, err2); err != nil {
		log.Fatal("create memory and a queue pair: ", err)
	}
	return dev, cq, mr, qp
}

// move writes once and prints the packets of each path.
func move(name string, mp verbs.MPOptions) {
	dev, cq, mr, qp := open(mp)
	defer dev.Close()
	peerDev, _, target, peer := open(mp)
	defer peerDev.Close()
	if err := errors.Join(qp.Connect(peer.Params()), peer.Connect(qp.Params())); err != nil {
		log.Fatal("connect: ", err)
	}
	if err := qp.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{mr.SGE(0, size)},
		RemoteAddr: target.Addr(), RKey: target.RKey(),
	}); err != nil {
		log.Fatal("post a write: ", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var done [1]verbs.Completion
	if _, err := cq.Wait(ctx, done[:]); err != nil || done[0].Err() != nil {
		log.Fatal("write: ", err, done[0].Err())
	}
	s := qp.PathStats()
	fmt.Printf("%-24s %5d %5d %5d %5d packets\n", name, s[0].Sent, s[1].Sent, s[2].Sent, s[3].Sent)
}

func main() {
	transport.PathPolicies.Register(transport.Entry[transport.NewPathPolicy]{
		Name: "weighted", Description: "path p carries p+1 shares", New: newWeighted,
	})
	names := os.Args[1:]
	if len(names) == 0 {
		names = transport.PathPolicies.Names()
	}
	for _, name := range names {
		options := verbs.WireOptions()
		if err := options.Choose(name, ""); err != nil {
			log.Fatal(err)
		}
		move(name, options)
	}
	fixed := verbs.WireOptions()
	fixed.MaxWindow, fixed.MaxWindowBytes = 128, 0
	if err := fixed.Choose("weighted", "fixed"); err != nil {
		log.Fatal(err)
	}
	move("weighted, 128 in flight", fixed)
}
