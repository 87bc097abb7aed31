#include "textflag.h"

// func Lines(p unsafe.Pointer, lines int)
//
// An address that is not mapped, or zero, does no harm to a prefetch.
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ lines+8(FP), CX

line:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	DECQ       CX
	JNZ        line
	RET
