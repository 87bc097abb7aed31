package machine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"github.com/braid-rdma/braid/cm/mad"
)

// A cookie proves the address of a peer without anything being kept for it, as
// the SYN cookies of TCP and the Retry packet of QUIC do. Where there is no
// room for a request that is not proven, it is refused by a REJ that carries a
// cookie, and the peer sends it again with the cookie as its transaction
// identifier. The cookie is a keyed hash of what the request says, so that only
// who received the REJ, at the address that it was sent to, can know it.
//
// The private data of the REJ, whose reason is that there are no resources:
//
//	bytes   field
//	0-3     "brai"
//	4       version, 1
//	5       1: send the request again with this cookie
//	6-7     reserved, zero
//	8-15    cookie

// retryMark are the bytes before the cookie.
var retryMark = []byte("brai\x01\x01\x00\x00")

const cookieEnd = 16

// cookieJar has the secrets that cookies are made with, or tickets. A cookie is good while
// its secret is the present or the previous one.
type cookieJar struct {
	rand     *rand.Rand
	period   Time        // the life of a secret
	secrets  [2][32]byte // the present one first
	rotateAt Time
}

func newCookieJar(r *rand.Rand, period Time) cookieJar {
	// Overdue by a whole period, so that the first use draws both secrets.
	return cookieJar{rand: r, period: period, rotateAt: -period}
}

// rotate draws new secrets in place of those that are too old.
func (j *cookieJar) rotate(now Time) {
	for range 2 {
		if now < j.rotateAt {
			return
		}
		j.secrets[1] = j.secrets[0]
		for i := 0; i < len(j.secrets[0]); i += 8 {
			binary.LittleEndian.PutUint64(j.secrets[0][i:], j.rand.Uint64())
		}
		// A period that nobody asked in is skipped.
		j.rotateAt = max(j.rotateAt, now-j.period) + j.period
	}
}

// cookie is what proves a request from now on.
func (j *cookieJar) cookie(now Time, from netip.Addr, req *mad.REQ) mad.TransactionID {
	j.rotate(now)
	return cookieOf(&j.secrets[0], from, req)
}

// proves says whether a request carries a cookie of ours.
func (j *cookieJar) proves(now Time, from netip.Addr, req *mad.REQ, tid mad.TransactionID) bool {
	j.rotate(now)
	return tid == cookieOf(&j.secrets[0], from, req) || tid == cookieOf(&j.secrets[1], from, req)
}

// cookieOf hashes all that tells one request from another. Input of one length
// and an output that is cut off make a plain hash of secret and message safe.
func cookieOf(secret *[32]byte, from netip.Addr, req *mad.REQ) mad.TransactionID {
	var b [72]byte
	copy(b[:], secret[:])
	addr := from.As16()
	copy(b[32:], addr[:])
	binary.BigEndian.PutUint64(b[48:], uint64(req.Service))
	binary.BigEndian.PutUint64(b[56:], req.LocalGUID)
	binary.BigEndian.PutUint32(b[64:], uint32(req.LocalID))
	binary.BigEndian.PutUint32(b[68:], uint32(req.QPN))
	sum := sha256.Sum256(b[:])
	return mad.TransactionID(binary.BigEndian.Uint64(sum[:])) &^ ticketBit
}

// askForProof refuses a request for which nothing is kept, with the cookie that
// admits it.
func (m *Machine) askForProof(now Time, from netip.Addr, req *mad.REQ, tid mad.TransactionID) {
	if !m.mayReply(now) {
		return
	}
	m.counters.Retries++
	rej := &mad.REJ{RemoteID: req.LocalID, Subject: mad.SubjectREQ, Reason: mad.ReasonNoResources}
	copy(rej.PrivateData[:], retryMark)
	binary.BigEndian.PutUint64(rej.PrivateData[len(retryMark):], uint64(m.cookies.cookie(now, from, req)))
	m.emit(from, mad.Append(nil, rej, tid))
}

// cookieIn is the cookie that a REJ carries, if it does.
func cookieIn(rej *mad.REJ) (mad.TransactionID, bool) {
	if rej.Reason != mad.ReasonNoResources || rej.Subject != mad.SubjectREQ || !bytes.HasPrefix(rej.PrivateData[:], retryMark) {
		return 0, false
	}
	return mad.TransactionID(binary.BigEndian.Uint64(rej.PrivateData[len(retryMark):cookieEnd])), true
}

// proveAddress sends the request again with the peer's cookie. The time for the
// attempt stays what it was, so that a peer which keeps asking gains nothing.
func (m *Machine) proveAddress(now Time, c *conn, cookie mad.TransactionID) {
	if c.tid == cookie {
		m.counters.Duplicates++
		return
	}
	c.tid = cookie
	c.message = bytes.Clone(c.message) // the one that was sent is not ours any more
	mad.SetTransactionID(c.message, cookie)
	c.wait, c.pressed = m.times.firstRetry, pressedRepeats
	m.send(c, c.message)
	m.scheduleRepeat(now, c)
}
