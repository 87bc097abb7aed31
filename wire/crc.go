package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// The ICRC is the CRC-32 of Ethernet. Where the processor has nothing better
// (crc_amd64.go), hash/crc32 computes it for long pieces, and the tables of this
// file for short ones: the standard function reaches its machine code through a
// function value, which forces every buffer handed to it onto the heap, and gains
// nothing there.

// crcStandardMin is the shortest input for which the standard function leaves its tables, with the eight bytes before it
// that it is not given.
const crcStandardMin = 64 + 8

// crcStandard continues crc over b, with the bits of ones (little-endian) set in
// the first eight bytes.
func crcStandard(crc uint32, b []byte, ones uint64) uint32 {
	if len(b) < crcStandardMin {
		return crcByTable(crc, b, ones)
	}
	if ones != 0 {
		head := min(len(b), 8)
		crc = crcByTable(crc, b[:head], ones)
		b = b[head:]
	}
	return crc32.Update(crc, crc32.IEEETable, b)
}

// crcTables are for eight bytes at a time: entry [i][v] is what the byte v does
// to the CRC when i bytes follow it.
var crcTables = buildCRCTables()

func buildCRCTables() (t [8][256]uint32) {
	t[0] = *crc32.IEEETable
	for v := range 256 {
		for i := 1; i < len(t); i++ {
			before := t[i-1][v]
			t[i][v] = before>>8 ^ t[0][byte(before)]
		}
	}
	return t
}

// crcShort continues the CRC-32 crc over b, like [crc32.Update].
func crcShort(crc uint32, b []byte) uint32 { return crcMasked(crc, b, 0) }

// crcByTable is crcMasked where the processor has nothing better. Of fewer than
// eight bytes none is masked.
func crcByTable(crc uint32, b []byte, ones uint64) uint32 {
	crc = ^crc
	for ; len(b) >= 8; b = b[8:] {
		word := (binary.LittleEndian.Uint64(b) | ones) ^ uint64(crc)
		ones = 0
		crc = crcTables[7][byte(word)] ^ crcTables[6][byte(word>>8)] ^
			crcTables[5][byte(word>>16)] ^ crcTables[4][byte(word>>24)] ^
			crcTables[3][byte(word>>32)] ^ crcTables[2][byte(word>>40)] ^
			crcTables[1][byte(word>>48)] ^ crcTables[0][byte(word>>56)]
	}
	if len(b) >= 4 { // all headers are multiples of four bytes
		word := binary.LittleEndian.Uint32(b) ^ crc
		crc = crcTables[3][byte(word)] ^ crcTables[2][byte(word>>8)] ^
			crcTables[1][byte(word>>16)] ^ crcTables[0][byte(word>>24)]
		b = b[4:]
	}
	for _, v := range b {
		crc = crc>>8 ^ crcTables[0][byte(crc)^v]
	}
	return ^crc
}
