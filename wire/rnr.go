package wire

// rnrTens holds the waits of the RNR NAK timer codes in units of 10 µs, the
// shortest of them. Code 0 is the longest wait; the others grow with the code.
var rnrTens = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

const rnrUnitNanos = 10_000

// RNRTimerNanos returns how long a requester waits after an RNR NAK with this
// timer code. Only the lower five bits of code count.
func RNRTimerNanos(code uint8) int64 {
	return int64(rnrTens[code&0x1f]) * rnrUnitNanos
}
