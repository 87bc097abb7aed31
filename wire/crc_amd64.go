package wire

import (
	"hash/crc32"

	"golang.org/x/sys/cpu"
)

// The CRC is most of the work that braid itself does for a byte, and the
// standard library's takes 16 bytes an instruction. Processors with VPCLMULQDQ
// multiply four such polynomials at once; crcFold in crc_amd64.s uses that.

// wideCRC says that this processor, and its operating system, can run crcFold.
var wideCRC = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ

// narrowCRC says that it can run crcFoldShort, which takes 16 bytes at a time as the standard library does, but any number of words
// and no table.
var narrowCRC = cpu.X86.HasPCLMULQDQ && cpu.X86.HasAVX

const (
	// crcFoldMin is the shortest input that crcFold and crcFoldShort take, and win on.
	crcFoldMin = 16
	// crcFoldShortMax is up to where crcFoldShort wins on the standard library, which takes four times 16 bytes at a time.
	crcFoldShortMax = 256
)

// crcFold continues the CRC register (the complement of a CRC) over n bytes at
// p, a multiple of four, at least crcFoldMin and not four more than a multiple of 256.
// The bits of ones are set in bytes 4 to 7 before they count.
//
//go:noescape
func crcFold(register uint32, p *byte, n int, ones uint32, k *foldConstants) uint32

// crcFoldShort does the same for a multiple of four that is at least crcFoldMin.
//
//go:noescape
func crcFoldShort(register uint32, p *byte, n int, ones uint32, k *foldConstants) uint32

// crcLong continues crc over b, with the bits of ones (little-endian) set in the
// first eight bytes. b may come to live on the heap.
func crcLong(crc uint32, b []byte, ones uint64) uint32 {
	if wideCRC {
		return crcWide(crc, b, ones)
	}
	if narrowCRC && len(b) <= crcFoldShortMax {
		return crcNarrow(crc, b, ones)
	}
	return crcStandard(crc, b, ones)
}

// crcMasked does the same for short pieces, and b stays where it is.
func crcMasked(crc uint32, b []byte, ones uint64) uint32 {
	if wideCRC {
		return crcWide(crc, b, ones)
	}
	if narrowCRC {
		return crcNarrow(crc, b, ones)
	}
	return crcByTable(crc, b, ones)
}

// crcNarrow leaves to the tables what crcFoldShort does not take.
func crcNarrow(crc uint32, b []byte, ones uint64) uint32 {
	n := len(b) &^ 3
	if n < crcFoldMin || uint32(ones) != 0 {
		return crcByTable(crc, b, ones)
	}
	crc = ^crcFoldShort(^crc, &b[0], n, uint32(ones>>32), &crcFoldBy)
	if n == len(b) {
		return crc
	}
	return crcByTable(crc, b[n:], 0)
}

// crcWide leaves to the tables what crcFold does not take.
func crcWide(crc uint32, b []byte, ones uint64) uint32 {
	if n := len(b); n < crcFoldMin || n%256/4 == 1 || uint32(ones) != 0 {
		head := min(n, 8)
		crc = crcByTable(crc, b[:head], ones)
		b, ones = b[head:], 0
	}
	n := len(b) &^ 3
	if n < crcFoldMin {
		return crcByTable(crc, b, ones)
	}
	crc = ^crcFold(^crc, &b[0], n, uint32(ones>>32), &crcFoldBy)
	if n == len(b) {
		return crc
	}
	return crcByTable(crc, b[n:], 0)
}

// foldPair moves a 128-bit remainder forward by some distance: the product of
// each half with its factor is the half's remainder that many bits further on.
type foldPair struct{ early, late uint64 }

// foldBy returns the pair for a distance in bits. The early half lies 32 bits
// before the middle of its lane's new place, as a remainder counts, the late
// half 32 bits behind it.
func foldBy(bits uint16) foldPair {
	return foldPair{factor(bits + 32), factor(bits - 32)}
}

// factor returns x^bits for a carry-less multiplication, whose product of two
// reflected operands comes out one place too low.
func factor(bits uint16) uint64 { return uint64(bytesForward.of(bits/8)) << 1 }

// foldConstants is the table that crcFold reads; it knows the offsets.
type foldConstants struct {
	stride  foldPair    // to the next 256 bytes
	merge   [3]foldPair // of the first three 64-byte accumulators into the fourth
	lanes   [4]foldPair // of an accumulator's 16-byte lanes into the last
	shrink  foldPair    // 128 bits to 96, and 96 to 64
	barrett foldPair    // 64 bits to 32: the inverse of the generator, and the generator
}

var crcFoldBy = foldConstants{
	stride:  foldBy(2048),
	merge:   [3]foldPair{foldBy(1536), foldBy(1024), foldBy(512)},
	lanes:   [4]foldPair{foldBy(384), foldBy(256), foldBy(128), {}},
	shrink:  foldPair{factor(96), factor(64)},
	barrett: foldPair{barrettInverse(), generator},
}

// generator is the polynomial of the CRC with its term x^32, reflected.
const generator = crc32.IEEE<<1 | 1

// barrettInverse returns the quotient of x^64 by the generator, reflected.
func barrettInverse() uint64 {
	quotient, rest := uint64(0), poly(0)
	for power := 64; power >= 0; power-- { // the terms of x^64, the highest first
		carry := rest & 1 // this term reaches x^32
		rest = rest.timesX()
		if power == 64 {
			rest ^= polyOne
		}
		if power <= 32 {
			quotient |= uint64(carry) << (32 - power)
		}
	}
	return quotient
}
