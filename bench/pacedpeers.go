package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/quic-go/quic-go"

	"github.com/braid-rdma/braid/cm"
	"github.com/braid-rdma/braid/udp"
	"github.com/braid-rdma/braid/verbs"
)

// pacedPeers are those who move bytes at a rate.
var pacedPeers = map[string]pacedEnd{
	"tcp":   {serve: serveTCP(false), dial: dialTCP(false)},
	"mptcp": {serve: serveTCP(true), dial: dialTCP(true)},
	"quic":  {serve: servePacedQUIC, dial: dialPacedQUIC},
	"mp":    {serve: servePacedVerbs(verbs.MP), dial: dialPacedVerbs(verbs.MP, "")},
	"rc":    {serve: servePacedVerbs(verbs.RC), dial: dialPacedVerbs(verbs.RC, "dcqcn")},
}

// serveTCP accepts one connection of TCP, or MPTCP, and reads it to its end.
func serveTCP(multiPath bool) func(context.Context, func(string) error) (usage, error) {
	return func(ctx context.Context, ready func(string) error) (usage, error) {
		var config net.ListenConfig
		config.SetMultipathTCP(multiPath)
		listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return usage{}, err
		}
		defer listener.Close()
		if err := ready(listener.Addr().String()); err != nil {
			return usage{}, err
		}
		conn, err := listener.Accept()
		if err != nil {
			return usage{}, err
		}
		defer conn.Close()
		received, err := receiveAll(conn)
		if err != nil {
			return usage{}, err
		}
		if multiPath {
			err = usesMPTCP(conn)
		}
		return received, err
	}
}

// usesMPTCP refuses a connection that the kernel has made one of TCP.
func usesMPTCP(conn net.Conn) error {
	if used, err := conn.(*net.TCPConn).MultipathTCP(); err != nil || !used {
		return fmt.Errorf("%w: the kernel has no MPTCP, or does not allow it", errors.Join(errSkipped, err))
	}
	return nil
}

// streamSender is a stream of bytes whose receiver closes it when it has all.
type streamSender struct {
	net.Conn
	finish func() error
}

func (s streamSender) Close() error {
	defer s.Conn.Close()
	if err := s.finish(); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, s.Conn)
	return err
}

func dialTCP(multiPath bool) func(context.Context, string) (pacedSender, error) {
	return func(ctx context.Context, address string) (pacedSender, error) {
		var dialer net.Dialer
		dialer.SetMultipathTCP(multiPath)
		conn, err := dialer.DialContext(ctx, "tcp4", address)
		if err != nil {
			return nil, err
		}
		return streamSender{conn, conn.(*net.TCPConn).CloseWrite}, nil
	}
}

// servePacedQUIC accepts one connection of quic-go and reads its stream to the end.
func servePacedQUIC(ctx context.Context, ready func(string) error) (received usage, err error) {
	err = acceptQUIC(ctx, ready, func(r io.Reader) (err error) {
		received, err = receiveAll(r)
		return err
	})
	return received, err
}

// quicSender is a stream whose receiver ends the connection when it has all.
type quicSender struct {
	*quic.SendStream
	conn *quic.Conn
}

func (s quicSender) Close() error {
	if err := s.SendStream.Close(); err != nil {
		return err
	}
	<-s.conn.Context().Done()
	return nil
}

func dialPacedQUIC(ctx context.Context, address string) (pacedSender, error) {
	conn, err := dialQUIC(ctx, address)
	if err != nil {
		return nil, err
	}
	stream, err := conn.OpenUniStreamSync(ctx)
	return quicSender{stream, conn}, err
}

// pacedDepth is how many WRITEs may be outstanding: as many bytes as TCP's buffers hold.
const pacedDepth = 64

// verbsEnd is a device with what a connection needs.
type verbsEnd struct {
	device  *verbs.Device
	manager *cm.Manager
	cq      *verbs.CQ
	mr      *verbs.MR
	options cm.Options
}

func openVerbs(kind verbs.QPType, rate string) (e verbsEnd, err error) {
	if e.device, err = udp.Open(udp.Config{Loopback: true}); err != nil {
		return e, err
	}
	if e.manager, err = cm.New(e.device, cm.Config{}); err != nil {
		return e, err
	}
	pd, err := e.device.CreatePD()
	if err != nil {
		return e, err
	}
	if e.cq, err = e.device.CreateCQ(2 * pacedDepth); err != nil {
		return e, err
	}
	if e.mr, err = pd.AllocMemory(pacedChunk, verbs.LocalWrite|verbs.RemoteWrite); err != nil {
		return e, err
	}
	e.options = cm.Options{PD: pd, QP: verbs.QPOptions{Type: kind, SendCQ: e.cq, SendDepth: 2 * pacedDepth}}
	if rate != "" {
		err = e.options.QP.RC.ChooseRate(rate, pacedLineRate)
	}
	return e, err
}

// pacedLineRate is where a rate control begins, and what it does not exceed, in bits per second.
const pacedLineRate = 10e9

func (e verbsEnd) close() {
	e.manager.Close()
	e.device.Close()
}

// servePacedVerbs lets a client write into memory, and learns from it at the end how much that was.
func servePacedVerbs(kind verbs.QPType) func(context.Context, func(string) error) (usage, error) {
	return func(ctx context.Context, ready func(string) error) (usage, error) {
		e, err := openVerbs(kind, "")
		if err != nil {
			return usage{}, err
		}
		defer e.close()
		listener, err := e.manager.Listen(0)
		if err != nil {
			return usage{}, err
		}
		if err := ready(listener.Addr().String()); err != nil {
			return usage{}, err
		}
		offer := binary.BigEndian.AppendUint64(nil, e.mr.Addr())
		e.options.PrivateData = binary.BigEndian.AppendUint32(offer, uint32(e.mr.RKey()))
		e.options.Prepare = func(qp *verbs.QP) error { return qp.PostRecv(&verbs.RecvWR{}) }
		conn, err := listener.Accept(ctx, e.options)
		if err != nil {
			return usage{}, err
		}
		defer conn.Close()
		m, err := startMeter()
		if err != nil {
			return usage{}, err
		}
		var done [1]verbs.Completion
		if _, err := e.cq.Wait(ctx, done[:]); err != nil {
			return usage{}, err
		}
		received, err := m.usage(int64(done[0].Imm) * pacedChunk)
		<-conn.Done()
		return received, errors.Join(err, done[0].Err())
	}
}

// verbsSender writes into the memory of a peer.
type verbsSender struct {
	verbsEnd
	ctx         context.Context
	conn        *cm.Conn
	outstanding int
	written     uint32 // chunks
	done        [pacedDepth]verbs.Completion
}

func dialPacedVerbs(kind verbs.QPType, rate string) func(context.Context, string) (pacedSender, error) {
	return func(ctx context.Context, address string) (pacedSender, error) {
		e, err := openVerbs(kind, rate)
		if err != nil {
			return nil, err
		}
		conn, err := e.manager.Dial(ctx, address, e.options)
		if err != nil {
			return nil, err
		}
		return &verbsSender{verbsEnd: e, ctx: ctx, conn: conn}, nil
	}
}

// Write posts a WRITE of the chunk's length, and waits where too many are outstanding.
func (s *verbsSender) Write(chunk []byte) (int, error) {
	if err := s.collect(pacedDepth - 1); err != nil {
		return 0, err
	}
	s.written++
	return len(chunk), s.post(&verbs.SendWR{Op: verbs.OpWrite, SGEs: []verbs.SGE{s.mr.SGE(0, len(chunk))}})
}

func (s *verbsSender) post(wr *verbs.SendWR) error {
	offer := s.conn.PrivateData()
	wr.Flags, wr.RemoteAddr, wr.RKey = verbs.Signaled, binary.BigEndian.Uint64(offer), verbs.RKey(binary.BigEndian.Uint32(offer[8:]))
	s.outstanding++
	return s.conn.QP().PostSend(wr)
}

// collect waits until no more than so many are outstanding.
func (s *verbsSender) collect(most int) error {
	for s.outstanding > most {
		n, err := s.cq.Wait(s.ctx, s.done[:])
		if err != nil {
			return err
		}
		s.outstanding -= n
		if i := slices.IndexFunc(s.done[:n], func(c verbs.Completion) bool { return c.Err() != nil }); i >= 0 {
			return s.done[i].Err()
		}
	}
	return nil
}

// Close tells the peer how many chunks there were, and returns when it has all.
func (s *verbsSender) Close() error {
	defer s.close()
	if err := s.post(&verbs.SendWR{Op: verbs.OpWriteImm, Imm: s.written}); err != nil {
		return err
	}
	if err := s.collect(0); err != nil {
		return err
	}
	return s.conn.Close()
}
