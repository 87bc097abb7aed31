package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

const (
	// crowded is how many connections a device has, of which one is used.
	crowded = 10000
	// crowdDials is how many of them are being made, or ended, at a time.
	crowdDials = 32
	// crowdDepth is the depth of their queues: what a connection costs beyond them is of interest.
	crowdDepth = 16
)

// A crowdSample is what many connections cost one of their ends.
type crowdSample struct {
	OpenSeconds  float64 `json:"open_s"`
	CloseSeconds float64 `json:"close_s"`
	// KilobytesEach is what the program's memory grew by, for each connection.
	KilobytesEach float64 `json:"kb_per_connection"`
}

var (
	crowdOpen   = metric{name: "time to connect all", unit: "s", lowerIsBetter: true, value: func(s sample) float64 { return s.Crowd.OpenSeconds }}
	crowdClose  = metric{name: "time to end all", unit: "s", lowerIsBetter: true, value: func(s sample) float64 { return s.Crowd.CloseSeconds }}
	crowdMemory = metric{name: "memory of an idle connection", unit: "KB", lowerIsBetter: true, value: func(s sample) float64 { return s.Crowd.KilobytesEach }}
)

// crowdSuite is what is measured of many connections on one device.
func crowdSuite(duration time.Duration) []group {
	return []group{{
		part: partConnections, title: "one connection among many", metric: roundTrip, maxRounds: 3,
		contestants: []contestant{
			{name: "WRITE 64 B, one connection", ours: true, run: betweenTwo("alone").lasting(duration)},
			{
				name: "WRITE 64 B, one of 10,000 connections", ours: true, target: &target{bound: 1.1, ofReference: true},
				run:  betweenTwo("crowd").within(roleLimit, duration),
				also: []aspect{{metric: crowdOpen}, {metric: crowdClose}, {metric: crowdMemory}},
			},
		},
	}}
}

// crowdEnd is a device whose connections share a completion queue.
type crowdEnd struct {
	device  *verbs.Device
	manager *cm.Manager
	cq      *verbs.CQ
	memory  *verbs.MR
	options cm.Options
	ownCQs  bool // the connections that are accepted do not share one
}

func openCrowd(loops int) (e *crowdEnd, err error) {
	e = new(crowdEnd)
	if e.device, err = udp.Open(udp.Config{Loopback: true, Loops: loops}); err != nil {
		return nil, err
	}
	if e.manager, err = cm.New(e.device, cm.Config{}); err != nil {
		return nil, errors.Join(err, e.device.Close())
	}
	pd, err := e.device.CreatePD()
	if err == nil {
		e.cq, err = e.device.CreateCQ(2 * crowdDepth)
	}
	if err == nil {
		e.memory, err = pd.AllocMemory(callBytes, verbs.LocalWrite|verbs.RemoteWrite)
	}
	e.options = cm.Options{PD: pd, QP: verbs.QPOptions{Type: verbs.MP, SendCQ: e.cq, SendDepth: crowdDepth, RecvDepth: crowdDepth}}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *crowdEnd) close() error { return errors.Join(e.manager.Close(), e.device.Close()) }

// serveCrowd accepts who comes, and says where a peer may write.
func serveCrowd(ctx context.Context, out io.Writer) error { return serveLoops(1)(ctx, out) }

// serveLoops is serveCrowd with a number of loops.
func serveLoops(loops int) func(ctx context.Context, out io.Writer) error {
	return func(ctx context.Context, out io.Writer) error { return serveWrites(ctx, loops, out) }
}

func serveWrites(ctx context.Context, loops int, out io.Writer) error {
	e, err := openCrowd(loops)
	if e != nil {
		e.ownCQs = loops > 1
	}
	if err != nil {
		return err
	}
	defer e.close()
	address, err := e.serve(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, address); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// serve accepts who comes until the context ends, and says where a peer may write. It returns where it listens.
func (e *crowdEnd) serve(ctx context.Context) (address string, err error) {
	o := e.options
	o.PrivateData = binary.BigEndian.AppendUint64(nil, e.memory.Addr())
	o.PrivateData = binary.BigEndian.AppendUint32(o.PrivateData, uint32(e.memory.RKey()))
	l, err := e.manager.Listen(0)
	if err != nil {
		return "", err
	}
	for range crowdDials {
		go func() {
			o := o
			for {
				if e.ownCQs {
					if cq, err := e.device.CreateCQ(2 * crowdDepth); err == nil {
						o.QP.SendCQ = cq
					}
				}
				conn, err := l.Accept(ctx, o)
				if ctx.Err() != nil || errors.Is(err, cm.ErrClosed) {
					return
				}
				if err == nil {
					context.AfterFunc(ctx, func() { _ = conn.Close() })
				}
			}
		}()
	}
	return l.Addr().String(), nil
}

// crowding is the role of a client that has a number of connections and uses the first.
func crowding(count int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		e, err := openCrowd(1)
		if err != nil {
			return err
		}
		defer e.close()
		before := heapBytes()
		began := time.Now()
		conns, err := e.dial(ctx, address, count)
		if err != nil {
			return err
		}
		figures := &crowdSample{OpenSeconds: time.Since(began).Seconds(), KilobytesEach: float64(heapBytes()-before) / float64(count) / 1000}
		call := e.writing(conns[0])
		if _, err := timeCalls(ctx, call, callWarmup, time.Minute); err != nil {
			return err
		}
		trips, err := timeCalls(ctx, call, maxPings, duration)
		if err != nil {
			return err
		}
		began = time.Now()
		if err := someAtATime(count, func(i int) error { return conns[i].Close() }); err != nil {
			return err
		}
		figures.CloseSeconds = time.Since(began).Seconds()
		slices.Sort(trips)
		return json.NewEncoder(out).Encode(sample{
			P50Micros: 2 * halfMicros(trips, 0.50), P99Micros: 2 * halfMicros(trips, 0.99), Crowd: figures,
		})
	}
}

// heapBytes is the memory that is in use, stacks included.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// dial makes connections.
func (e *crowdEnd) dial(ctx context.Context, address string, count int) ([]*cm.Conn, error) {
	conns := make([]*cm.Conn, count)
	return conns, someAtATime(count, func(i int) (err error) {
		conns[i], err = e.manager.Dial(ctx, address, e.options)
		return err
	})
}

// someAtATime calls f with all numbers below count, and returns the first error.
func someAtATime(count int, f func(i int) error) error {
	var (
		next  atomic.Int64
		first error
		once  sync.Once
		all   sync.WaitGroup
	)
	for range crowdDials {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	all.Wait()
	return first
}

// writing is a WRITE that is waited for.
func (e *crowdEnd) writing(conn *cm.Conn) caller {
	at := conn.PrivateData()
	wr := verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, Inline: make([]byte, callBytes),
		RemoteAddr: binary.BigEndian.Uint64(at), RKey: verbs.RKey(binary.BigEndian.Uint32(at[8:])),
	}
	return func(ctx context.Context) error {
		if err := conn.QP().PostSend(&wr); err != nil {
			return err
		}
		var done [1]verbs.Completion
		if _, err := e.cq.Wait(ctx, done[:]); err != nil {
			return err
		}
		return done[0].Err()
	}
}
