package demo

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/braid-rdma/braid/verbs"
)

const (
	// creditEvery is after how many checked chunks the responder says so. With
	// the smallest region half the slots are under way and fewer than this wait
	// for their credit, so the requester never waits for credit that is not due.
	creditEvery = minSize / chunkSize / 2
	// streamReceives are the receives posted for the stream: one for each chunk
	// that can be under way, and some to spare.
	streamReceives = 2 * maxDepth
)

// streamChecker compares each chunk of the stream with its checksum.
type streamChecker struct {
	*responder
	verdict
	credited uint64
	wr       verbs.RecvWR
	grants   verbs.SendWR // writes the number to the requester's credit
	number   [8]byte
}

// checkStream checks the stream until the requester asks for the verdict and
// all chunks have come.
func (r *responder) checkStream(ctx context.Context) error {
	c := &streamChecker{responder: r}
	// Synchronised, so that a credit never overtakes the next.
	c.grants = verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled | verbs.Synchronise, Inline: c.number[:],
		RemoteAddr: r.credit.Addr, RKey: r.credit.RKey,
	}
	for range streamReceives {
		if err := r.qp.PostRecv(&c.wr); err != nil {
			return err
		}
	}
	if err := r.Send(ctx, tellReady, nil); err != nil {
		return err
	}
	checking, stop := context.WithCancel(ctx)
	defer stop()
	var chunks uint64
	asked := make(chan error, 1)
	go func() {
		// The question comes after the requester has seen the last chunk
		// complete, so all that is to be checked has arrived.
		asked <- r.Receive(ctx, askVerdict, &chunks)
		stop()
	}()
	for checking.Err() == nil {
		if err := c.step(checking); err != nil {
			if checking.Err() != nil && errors.Is(err, checking.Err()) {
				break
			}
			return err
		}
	}
	if err := <-asked; err != nil {
		return err
	}
	for c.Checked < chunks {
		if err := c.step(ctx); err != nil {
			return err
		}
	}
	return r.Send(ctx, tellVerdict, c.verdict)
}

// step takes in some completions.
func (c *streamChecker) step(ctx context.Context) error {
	completions, err := c.wait(ctx)
	if err != nil {
		return err
	}
	for i := range completions {
		arrived := &completions[i]
		if !isReceive(arrived) {
			continue
		}
		// Chunks complete in the order of the stream, so the count tells the slot.
		if sum := crc32.Checksum(chunk(c.data.Bytes(), c.Checked), castagnoli); sum != arrived.Imm {
			c.Mismatches++
		}
		c.Checked++
		if err := c.qp.PostRecv(&c.wr); err != nil {
			return err
		}
	}
	return c.grant()
}

// grant tells the requester how many chunks have been checked.
func (c *streamChecker) grant() error {
	if c.Checked-c.credited < creditEvery {
		return nil
	}
	c.credited = c.Checked
	binary.NativeEndian.PutUint64(c.number[:], c.Checked)
	return c.qp.PostSend(&c.grants)
}
