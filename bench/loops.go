package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// loopConnections is how many connections share the loops of a device.
	loopConnections = 8
	// loopWrites is how many messages of a connection are under way.
	loopWrites = 16
)

// loopsGroups are what several loops of a device bring to connections that each have a thread of their own. Where both ends
// are the device's, and of one loop, the loops are the only limit; between two processes it is the cores, which the peer
// has a share of.
func loopsGroups(duration time.Duration) []group {
	fair := []aspect{{metric: jain, target: &target{bound: 0.95}}}
	return []group{
		{
			part: partCores, title: "eight connections within one device, WRITE 64 B", metric: rate,
			contestants: []contestant{
				{name: "braid MP, one loop", ours: true, run: withinOne("loop-client").lasting(duration), also: fair},
				{name: "braid MP, two loops", ours: true, target: &target{bound: 1.5, ofReference: true}, run: withinOne("loops-client").lasting(duration), also: fair},
			},
		},
		{
			part: partCores, title: "eight connections between two devices, WRITE 64 B", metric: rate,
			contestants: []contestant{
				{name: "braid MP, one loop at each end", ours: true, run: betweenTwo("loop").lasting(duration), also: fair},
				{name: "braid MP, two loops at each end", ours: true, run: betweenTwo("loops").lasting(duration), also: fair},
			},
		},
	}
}

// withinOne is the measurement of a role that needs no other.
func withinOne(name string) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		return playAlone(ctx, runtime.NumCPU(), name, durationVariable+"="+duration.String())
	}
}

// looping is the role of a client whose connections write as fast as they can, over a number of loops.
func looping(loops int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		e, err := openCrowd(loops)
		if err != nil {
			return err
		}
		defer e.close()
		if address == "" {
			// Both ends are this device's. Those that accept share a completion queue, whose queue pairs take the loops in turn. The
			// first is not used: after it both ends of a connection are of one loop.
			if address, err = e.serve(ctx); err != nil {
				return err
			}
			if _, _, err := e.dialOwn(ctx, address); err != nil {
				return err
			}
		}
		var (
			counts [loopConnections]float64
			errs   [loopConnections]error
			all    sync.WaitGroup
		)
		begin := make(chan struct{})
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for i := range counts {
			conn, cq, err := e.dialOwn(ctx, address)
			if err != nil {
				return err
			}
			all.Go(func() {
				<-begin
				counts[i], errs[i] = writeMany(ctx, conn, cq)
			})
		}
		close(begin)
		time.AfterFunc(duration, cancel)
		all.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		sum, squares := 0.0, 0.0
		for _, n := range counts {
			sum, squares = sum+n, squares+n*n
		}
		return json.NewEncoder(out).Encode(sample{
			RateMops: sum / duration.Seconds() / 1e6, Cores: &coresSample{Jain: sum * sum / (loopConnections * squares)},
		})
	}
}

// dialOwn makes a connection with a completion queue of its own.
func (e *crowdEnd) dialOwn(ctx context.Context, address string) (*cm.Conn, *verbs.CQ, error) {
	o := e.options
	cq, err := e.device.CreateCQ(2 * crowdDepth)
	if err != nil {
		return nil, nil, err
	}
	o.QP.SendCQ = cq
	conn, err := e.manager.Dial(ctx, address, o)
	return conn, cq, err
}

// writeMany writes messages until the context ends, and returns how many have completed.
func writeMany(ctx context.Context, conn *cm.Conn, cq *verbs.CQ) (completed float64, err error) {
	at := conn.PrivateData()
	wr := verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: make([]byte, callBytes),
		RemoteAddr: binary.BigEndian.Uint64(at), RKey: verbs.RKey(binary.BigEndian.Uint32(at[8:])),
	}
	wrs := make([]verbs.SendWR, loopWrites)
	for i := range wrs {
		wrs[i] = wr
	}
	var done [loopWrites]verbs.Completion
	for room := loopWrites; ctx.Err() == nil; {
		if _, err := conn.QP().PostSends(wrs[:room]); err != nil {
			return completed, err
		}
		if room, err = cq.Wait(ctx, done[:]); err != nil {
			break
		}
		for i := range done[:room] {
			if err := done[i].Err(); err != nil {
				return completed, err
			}
		}
		completed += float64(room)
	}
	return completed, nil
}
