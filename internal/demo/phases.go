package demo

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/braid-rdma/braid/verbs"
)

// showWrite writes the region and compares its digest at both ends.
func (r *requester) showWrite(ctx context.Context) error {
	if err := r.overRegion(ctx, verbs.OpWrite, r.source); err != nil {
		return err
	}
	same, err := r.sameDigest(ctx)
	if err != nil {
		return err
	}
	r.checked(OperationDone{Op: "write", Count: uint64(r.config.slots()), Bytes: uint64(r.config.Size), Verified: same},
		"WRITE: the remote region has another digest than the local one")
	return nil
}

// showRead reads the region back and compares it with the original.
func (r *requester) showRead(ctx context.Context) error {
	if err := r.overRegion(ctx, verbs.OpRead, r.back); err != nil {
		return err
	}
	same := bytes.Equal(r.source.Bytes(), r.back.Bytes())
	r.checked(OperationDone{Op: "read", Count: uint64(r.config.slots()), Bytes: uint64(r.config.Size), Verified: same},
		"READ: the bytes that came back are not those that were written")
	return nil
}

// showSend sends messages and compares the digest of what was received.
func (r *requester) showSend(ctx context.Context) error {
	if err := r.Send(ctx, askMessages, nil); err != nil {
		return err
	}
	if err := r.Receive(ctx, tellReady, new(any)); err != nil {
		return err
	}
	sent := make([]byte, 0, messageCount*chunkSize)
	for i := range uint64(messageCount) {
		sent = append(sent, chunk(r.source.Bytes(), i)...)
	}
	err := r.pipeline(ctx, messageCount, func(i uint64) verbs.SendWR {
		return verbs.SendWR{Op: verbs.OpSend, SGEs: r.slotOf(r.source, i)}
	})
	if err != nil {
		return err
	}
	var theirs []byte
	if err := r.Receive(ctx, tellDigest, &theirs); err != nil {
		return err
	}
	r.checked(OperationDone{Op: "send", Count: messageCount, Bytes: uint64(len(sent)), Verified: bytes.Equal(digestOf(sent), theirs)},
		"SEND: the messages received have another digest than those sent")
	return nil
}

// showAtomics counts with FETCH_ADD, where each must return the sum before it,
// and swaps with CMP_SWAP, which must succeed exactly once.
func (r *requester) showAtomics(ctx context.Context) error {
	const (
		additions = 100
		addend    = 3
		swapped   = 0xb1a1d
	)
	right := true
	for i := range uint64(additions) {
		before, err := r.atomic(ctx, verbs.SendWR{Op: verbs.OpFetchAdd, SwapAdd: addend})
		if err != nil {
			return err
		}
		right = right && before == i*addend
	}
	for _, want := range []uint64{additions * addend, swapped} {
		before, err := r.atomic(ctx, verbs.SendWR{Op: verbs.OpCompareSwap, Compare: additions * addend, SwapAdd: swapped})
		if err != nil {
			return err
		}
		right = right && before == want
	}
	const count = additions + 2
	r.checked(OperationDone{Op: "atomic", Count: count, Bytes: 8 * count, Verified: right},
		"atomics: the counter did not have the value that it must have")
	return nil
}

// atomic runs one atomic on the counter and returns the value before it.
func (r *requester) atomic(ctx context.Context, wr verbs.SendWR) (uint64, error) {
	wr.SGEs = []verbs.SGE{r.result.SGE(0, 8)}
	wr.RemoteAddr, wr.RKey = r.counter.Addr, r.counter.RKey
	if err := r.pipeline(ctx, 1, func(uint64) verbs.SendWR { return wr }); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint64(r.result.Bytes()), nil
}

// slotOf names slot i of one of this end's regions.
func (r *requester) slotOf(m *verbs.MR, i uint64) []verbs.SGE {
	return []verbs.SGE{m.SGE(r.offset(i), chunkSize)}
}

func (r *requester) offset(i uint64) int { return int(i%uint64(r.config.slots())) * chunkSize }

// overRegion runs an operation on every chunk of the region.
func (r *requester) overRegion(ctx context.Context, op verbs.Op, local *verbs.MR) error {
	return r.pipeline(ctx, uint64(r.config.slots()), func(i uint64) verbs.SendWR {
		return verbs.SendWR{
			Op: op, SGEs: r.slotOf(local, i),
			RemoteAddr: r.data.Addr + uint64(r.offset(i)), RKey: r.data.RKey,
		}
	})
}

// pipeline posts operations, as many at a time as the depth allows, and waits
// for all of them.
func (r *requester) pipeline(ctx context.Context, count uint64, request func(i uint64) verbs.SendWR) error {
	for posted, completed := uint64(0), uint64(0); completed < count; {
		for posted < count && posted-completed < uint64(r.config.depth()) {
			wr := request(posted)
			wr.Flags |= verbs.Signaled
			if err := r.qp.PostSend(&wr); err != nil {
				return err
			}
			posted++
		}
		done, err := r.poll(ctx)
		if err != nil {
			return err
		}
		completed += uint64(len(done))
	}
	return nil
}

// sameDigest compares the digests of the region at both ends.
func (r *requester) sameDigest(ctx context.Context) (bool, error) {
	if err := r.Send(ctx, askDigest, nil); err != nil {
		return false, err
	}
	var theirs []byte
	if err := r.Receive(ctx, tellDigest, &theirs); err != nil {
		return false, err
	}
	return bytes.Equal(digestOf(r.source.Bytes()), theirs), nil
}
