package pcapng

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// These are the errors of arguments. They are returned before a byte is
// written, so the capture can go on.
var (
	// ErrTooLong means that a packet or a comment is beyond its limit.
	ErrTooLong = errors.New("too long for the capture")
	// ErrFamily means that two addresses are invalid or not of one family.
	ErrFamily = errors.New("the addresses are not of one IP family")
)

const (
	// MaxPacket is the longest packet: an IPv6 header and all that its length
	// field can count.
	MaxPacket = ipv6Len + 0xffff
	// MaxComment is the longest comment, in bytes.
	MaxComment = 256
)

// Block and option codes of the format.
const (
	blockSectionHeader  = 0x0a0d0d0a
	blockInterface      = 1
	blockEnhancedPacket = 6

	optionEnd            = 0
	optionComment        = 1 // of any block
	optionPacketFlags    = 2 // of an enhanced packet
	optionTimeResolution = 9 // of an interface
)

const (
	byteOrderMagic  = 0x1a2b3c4d
	versionMajor    = 1
	versionMinor    = 0
	lengthUnknown   = 1<<64 - 1
	linkTypeRaw     = 101 // packets start with the IP header
	resolutionNanos = 9   // a unit of time is 10^-9 s

	// blockFrame is the code before a body, and the length on both sides of it.
	blockFrame = 12
	// packetHeader is what stands before the bytes of an enhanced packet.
	packetHeader = 20
	// optionHeader is an option's code and length.
	optionHeader = 4
	// maxBlock is the longest block: a packet and a comment of the longest, each
	// padded, with the flags and the end of the options.
	maxBlock = blockFrame + packetHeader + MaxPacket + 3 + optionHeader + MaxComment + 3 + optionHeader + 4 + optionHeader
)

// Direction tells from which side an interface saw a packet.
type Direction uint32

// The numbers are those of the format.
const (
	DirectionUnknown Direction = 0
	Inbound          Direction = 1
	Outbound         Direction = 2
)

// A Packet is one record of a capture.
type Packet struct {
	Time      int64  // nanoseconds since 1970
	Data      []byte // from the IP header on, at most MaxPacket bytes
	Direction Direction
	Comment   []byte // UTF-8, at most MaxComment bytes; none when empty
}

// A Writer writes one capture.
type Writer struct {
	out   io.Writer
	block []byte // the block being built, reused
	err   error  // what ended the capture
}

// NewWriter starts a capture: it writes the section and its interface.
func NewWriter(out io.Writer) (*Writer, error) {
	w := &Writer{out: out, block: make([]byte, 0, maxBlock)}
	start := w.begin(blockSectionHeader)
	w.uint32(byteOrderMagic)
	w.uint16(versionMajor)
	w.uint16(versionMinor)
	w.uint64(lengthUnknown)
	w.end(start)

	start = w.begin(blockInterface)
	w.uint16(linkTypeRaw)
	w.uint16(0) // reserved
	w.uint32(0) // packets are whole, however long
	w.option(optionTimeResolution, []byte{resolutionNanos})
	w.option(optionEnd, nil)
	w.end(start)
	if err := w.flush(); err != nil {
		return nil, err
	}
	return w, nil
}

// WritePacket adds a packet. An error of the underlying writer ends the capture,
// because half a block makes everything after it unreadable: every later call
// returns the same error and writes nothing. The packet is not kept.
func (w *Writer) WritePacket(p *Packet) error {
	switch {
	case w.err != nil:
		return w.err
	case len(p.Data) > MaxPacket:
		return fmt.Errorf("pcapng: %w: a packet of %d bytes, the limit is %d", ErrTooLong, len(p.Data), MaxPacket)
	case len(p.Comment) > MaxComment:
		return fmt.Errorf("pcapng: %w: a comment of %d bytes, the limit is %d", ErrTooLong, len(p.Comment), MaxComment)
	}
	start := w.begin(blockEnhancedPacket)
	w.uint32(0) // the only interface
	w.uint32(uint32(uint64(p.Time) >> 32))
	w.uint32(uint32(uint64(p.Time)))
	w.uint32(uint32(len(p.Data))) // in the file
	w.uint32(uint32(len(p.Data))) // on the wire
	w.padded(p.Data)
	w.packetOptions(p)
	w.end(start)
	return w.flush()
}

// packetOptions writes the options that the packet has. Where there are none,
// their end mark is left out too.
func (w *Writer) packetOptions(p *Packet) {
	if len(p.Comment) == 0 && p.Direction == DirectionUnknown {
		return
	}
	if len(p.Comment) > 0 {
		w.option(optionComment, p.Comment)
	}
	if p.Direction != DirectionUnknown {
		w.uint16(optionPacketFlags)
		w.uint16(4)
		w.uint32(uint32(p.Direction))
	}
	w.option(optionEnd, nil)
}

// flush writes the blocks that were built, all in one call.
func (w *Writer) flush() error {
	n, err := w.out.Write(w.block)
	if err == nil && n < len(w.block) {
		err = io.ErrShortWrite
	}
	w.block = w.block[:0]
	if err != nil {
		w.err = fmt.Errorf("pcapng: write the capture: %w", err)
	}
	return w.err
}

// begin opens a block and returns its place, which end needs.
func (w *Writer) begin(kind uint32) (start int) {
	start = len(w.block)
	w.uint32(kind)
	w.uint32(0) // the length, known to end
	return start
}

// end closes the block that began at start.
func (w *Writer) end(start int) {
	length := uint32(len(w.block) - start + 4)
	binary.LittleEndian.PutUint32(w.block[start+4:], length)
	w.uint32(length)
}

// option adds one option to the block.
func (w *Writer) option(code uint16, value []byte) {
	w.uint16(code)
	w.uint16(uint16(len(value)))
	w.padded(value)
}

// padded adds bytes and fills up to a multiple of four, as the format wants.
func (w *Writer) padded(b []byte) {
	w.block = append(w.block, b...)
	for range -len(b) & 3 {
		w.block = append(w.block, 0)
	}
}

func (w *Writer) uint16(v uint16) { w.block = binary.LittleEndian.AppendUint16(w.block, v) }
func (w *Writer) uint32(v uint32) { w.block = binary.LittleEndian.AppendUint32(w.block, v) }
func (w *Writer) uint64(v uint64) { w.block = binary.LittleEndian.AppendUint64(w.block, v) }
