package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/braid-rdma/braid/verbs"
)

// The responder sends two kinds of letter, which their length tells apart:
// digests, when it is asked, and credits, while it checks the stream.
const (
	digestSize = sha256.Size
	creditSize = 8

	// mailSlots are the receives that the requester keeps posted.
	mailSlots    = 2 * maxDepth
	mailSlotSize = 64
)

// postAllMail posts the receives of all mail slots, before the responder can
// send.
func (r *requester) postAllMail(qp *verbs.QP) error {
	r.qp = qp
	for slot := range uint64(mailSlots) {
		if err := r.postMail(slot); err != nil {
			return err
		}
	}
	return nil
}

// postMail posts the receive of a mail slot.
func (r *requester) postMail(slot uint64) error {
	sge := r.mail.SGE(int(slot)*mailSlotSize, mailSlotSize)
	return r.qp.PostRecv(&verbs.RecvWR{ID: slot, SGEs: []verbs.SGE{sge}})
}

// collect polls once: it returns how many operations have completed, and keeps
// the letters that came. A letter may overtake the completion of what it
// returns, since the acknowledgement can be behind it.
func (r *requester) collect(ctx context.Context) (completed uint64, err error) {
	completions, err := r.poll(ctx)
	if err != nil {
		return 0, err
	}
	for i := range completions {
		c := &completions[i]
		if !isReceive(c) {
			completed++
			continue
		}
		at := int(c.WRID) * mailSlotSize
		letter := append([]byte(nil), r.mail.Bytes()[at:at+int(c.Bytes)]...)
		if len(letter) != digestSize && len(letter) != creditSize {
			return completed, fmt.Errorf("the responder sent a letter of %d bytes", len(letter))
		}
		r.letters = append(r.letters, letter)
		if err := r.postMail(c.WRID); err != nil {
			return completed, err
		}
	}
	return completed, nil
}

// awaitDigest waits for the digest that the responder was asked for. Credits
// that are still on their way then have no meaning any more.
func (r *requester) awaitDigest(ctx context.Context) ([]byte, error) {
	for {
		for i, letter := range r.letters {
			if len(letter) == digestSize {
				r.letters = r.letters[i+1:]
				return letter, nil
			}
		}
		r.letters = r.letters[:0]
		if _, err := r.collect(ctx); err != nil {
			return nil, err
		}
	}
}

// latestCredit is the highest credit among the letters that came, or zero; it
// leaves none.
func (r *requester) latestCredit() (credit uint64) {
	for _, letter := range r.letters {
		if len(letter) == creditSize {
			credit = max(credit, binary.LittleEndian.Uint64(letter))
		}
	}
	r.letters = r.letters[:0]
	return credit
}
