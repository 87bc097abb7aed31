#include "textflag.h"

// Offsets in event.
#define ACTOR 24
#define PACKET 32
#define SIZE 40

// func prefetchEvents(day []event)
//
// An address that is not mapped, or zero, does no harm to a prefetch.
TEXT ·prefetchEvents(SB), NOSPLIT, $0-24
	MOVQ  day_base+0(FP), SI
	MOVQ  day_len+8(FP), CX
	TESTQ CX, CX
	JZ    done

next:
	MOVQ       ACTOR(SI), AX
	MOVQ       PACKET(SI), BX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 192(AX)
	PREFETCHT0 (BX)
	ADDQ       $SIZE, SI
	DECQ       CX
	JNZ        next

done:
	RET

// func prefetchLines(p unsafe.Pointer, lines int)
TEXT ·prefetchLines(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), SI
	MOVQ lines+8(FP), CX

line:
	PREFETCHT0 (SI)
	ADDQ       $64, SI
	DECQ       CX
	JNZ        line
	RET
