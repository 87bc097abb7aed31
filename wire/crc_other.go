//go:build !amd64

package wire

// crcLong continues crc over b, with the bits of ones (little-endian) set in the
// first eight bytes. b may come to live on the heap.
func crcLong(crc uint32, b []byte, ones uint64) uint32 { return crcStandard(crc, b, ones) }

// crcMasked does the same for short pieces, and b stays where it is.
func crcMasked(crc uint32, b []byte, ones uint64) uint32 { return crcByTable(crc, b, ones) }
