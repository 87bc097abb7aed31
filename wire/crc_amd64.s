#include "textflag.h"

// Offsets in foldConstants.
#define STRIDE 0
#define MERGE 16
#define LANES 64
#define BY16 96 // of LANES, from one lane to the next
#define SHRINK 128
#define BARRETT 144

// FOLD moves the accumulator acc forward by the distance of the pair k and adds
// the 64 bytes that lie there. It spoils tmp.
#define FOLD(acc, k, tmp, there) \
	VPCLMULQDQ $0x00, k, acc, tmp  \
	VPCLMULQDQ $0x11, k, acc, acc  \
	VPTERNLOGQ $0x96, there, tmp, acc

// REDUCE makes the remainder in AX of the 128 bits in X0: first 64 bits, with 32 bits of zeros behind the message
// meanwhile, and of their low 32, alone, the next; then 32 by Barrett's reduction. It spoils CX, X1, X10 and X11.
#define REDUCE \
	VMOVDQU SHRINK(DI), X10 \
	VMOVDQU BARRETT(DI), X11 \
	VPCLMULQDQ $0x00, X10, X0, X1 \
	VPSRLDQ $8, X0, X0 \
	VPXOR X1, X0, X0 \
	VMOVD X0, CX \
	VMOVD CX, X1 \
	VPCLMULQDQ $0x10, X10, X1, X1 \
	VPSRLDQ $4, X0, X0 \
	VPXOR X1, X0, X0 \
	VMOVD X0, CX \
	VMOVD CX, X1 \
	VPCLMULQDQ $0x00, X11, X1, X1 \
	VMOVD X1, CX \
	VMOVD CX, X1 \
	VPCLMULQDQ $0x10, X11, X1, X1 \
	VPXOR X1, X0, X0 \
	VPEXTRD $1, X0, AX

// func crcFold(register uint32, p *byte, n int, ones uint32, k *foldConstants) uint32
//
// A message may have zeros put before it without changing its remainder, so it
// is taken to start earlier, where its length becomes a multiple of what is
// loaded at once: masks leave the zeros out, and nothing is read there.
// The register counts as a part of the message's first four bytes.
TEXT ·crcFold(SB), NOSPLIT, $0-44
	MOVL register+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), BX
	MOVL ones+24(FP), DX
	MOVQ k+32(FP), DI

	MOVQ  $-1, R8
	MOVQ  $1, R9
	CMPQ  BX, $64
	JHI   long

	// One load: CX is the number of 4-byte words before the message.
	MOVQ BX, CX
	SHRQ $2, CX
	NEGQ CX
	ADDQ $16, CX
	SHLQ CX, R8
	SHLQ CX, R9
	SHLQ $2, CX
	SUBQ CX, SI
	KMOVW R8, K1
	KMOVW R9, K2
	ADDQ R9, R9
	KMOVW R9, K3
	VMOVDQU32.Z (SI), K1, Z3
	VPBROADCASTD.Z DX, K3, Z8
	VPORQ Z8, Z3, Z3
	VPBROADCASTD.Z AX, K2, Z8
	VPXORQ Z8, Z3, Z3
	JMP lanes

long:
	// Four loads: CX is the number of words before the message in 256 bytes.
	MOVQ BX, CX
	SHRQ $2, CX
	NEGQ CX
	ANDQ $63, CX
	SHLQ CX, R8
	SHLQ CX, R9
	SHLQ $2, CX
	SUBQ CX, SI
	ADDQ CX, BX // the length with the zeros, a multiple of 256

	VPBROADCASTD DX, Z8
	VPBROADCASTD AX, Z9
	MOVQ R9, R10
	ADDQ R10, R10

	KMOVW R8, K1
	KMOVW R9, K2
	KMOVW R10, K3
	VMOVDQU32.Z (SI), K1, Z0
	VPORD Z8, Z0, K3, Z0
	VPXORD Z9, Z0, K2, Z0
	SHRQ $16, R8
	SHRQ $16, R9
	SHRQ $16, R10
	KMOVW R8, K1
	KMOVW R9, K2
	KMOVW R10, K3
	VMOVDQU32.Z 64(SI), K1, Z1
	VPORD Z8, Z1, K3, Z1
	VPXORD Z9, Z1, K2, Z1
	SHRQ $16, R8
	SHRQ $16, R9
	SHRQ $16, R10
	KMOVW R8, K1
	KMOVW R9, K2
	KMOVW R10, K3
	VMOVDQU32.Z 128(SI), K1, Z2
	VPORD Z8, Z2, K3, Z2
	VPXORD Z9, Z2, K2, Z2
	SHRQ $16, R8
	SHRQ $16, R9
	SHRQ $16, R10
	KMOVW R8, K1
	KMOVW R9, K2
	KMOVW R10, K3
	VMOVDQU32.Z 192(SI), K1, Z3
	VPORD Z8, Z3, K3, Z3
	VPXORD Z9, Z3, K2, Z3

	VBROADCASTI32X4 STRIDE(DI), Z10
	JMP next

stride:
	FOLD(Z0, Z10, Z4, (SI))
	FOLD(Z1, Z10, Z5, 64(SI))
	FOLD(Z2, Z10, Z6, 128(SI))
	FOLD(Z3, Z10, Z7, 192(SI))

next:
	ADDQ $256, SI
	SUBQ $256, BX
	JNZ  stride

	// The four accumulators become the last.
	VBROADCASTI32X4 MERGE(DI), Z10
	VBROADCASTI32X4 MERGE+16(DI), Z11
	VBROADCASTI32X4 MERGE+32(DI), Z12
	FOLD(Z2, Z12, Z6, Z3)
	FOLD(Z1, Z11, Z5, Z2)
	FOLD(Z0, Z10, Z4, Z1)
	VMOVDQA64 Z0, Z3

lanes:
	// The four lanes of Z3 become the last, in X0.
	VMOVDQU64 LANES(DI), Z10
	VPCLMULQDQ $0x00, Z10, Z3, Z4
	VPCLMULQDQ $0x11, Z10, Z3, Z5
	VPXORQ Z4, Z5, Z4
	VEXTRACTI32X4 $3, Z3, X0
	VEXTRACTI64X4 $1, Z4, Y5
	VPXOR Y4, Y5, Y4
	VEXTRACTI128 $1, Y4, X5
	VPXOR X4, X0, X0
	VPXOR X5, X0, X0

	REDUCE
	VZEROUPPER
	MOVL AX, ret+40(FP)
	RET

// shifts moves the bytes of a register: a shuffle by the 16 bytes from 16-n on moves them n places up, by those from
// 16+n on n places down, and what comes in is zero.
DATA shifts<>+0(SB)/8, $0x8080808080808080
DATA shifts<>+8(SB)/8, $0x8080808080808080
DATA shifts<>+16(SB)/8, $0x0706050403020100
DATA shifts<>+24(SB)/8, $0x0f0e0d0c0b0a0908
DATA shifts<>+32(SB)/8, $0x8080808080808080
DATA shifts<>+40(SB)/8, $0x8080808080808080
GLOBL shifts<>(SB), RODATA|NOPTR, $48

// func crcFoldShort(register uint32, p *byte, n int, ones uint32, k *foldConstants) uint32
//
// As crcFold, 16 bytes at a time: zeros before the message make its length a multiple of that.
TEXT ·crcFoldShort(SB), NOSPLIT, $0-44
	MOVL register+0(FP), AX
	MOVQ p+8(FP), SI
	MOVQ n+16(FP), BX
	MOVL ones+24(FP), DX
	MOVQ k+32(FP), DI

	VMOVDQU BY16(DI), X7
	VMOVD   DX, X6
	VPSLLDQ $4, X6, X6
	VMOVD   AX, X5
	VMOVDQU (SI), X0
	VPOR    X6, X0, X0
	VPXOR   X5, X0, X0

	MOVQ BX, CX
	ANDQ $15, CX
	JZ   whole

	// The first CX bytes, behind zeros, and then the 16 bytes after them, in which the word with the ones may be the first.
	LEAQ    shifts<>+0(SB), R8
	VPSHUFB (R8)(CX*1), X0, X0
	VPSHUFB 16(R8)(CX*1), X6, X6
	ADDQ    CX, SI
	SUBQ    CX, BX
	VPOR    (SI), X6, X6
	VPCLMULQDQ $0x00, X7, X0, X1
	VPCLMULQDQ $0x11, X7, X0, X0
	VPXOR   X1, X0, X0
	VPXOR   X6, X0, X0

whole:
	SUBQ $16, BX
	JZ   done

fold:
	ADDQ $16, SI
	VPCLMULQDQ $0x00, X7, X0, X1
	VPCLMULQDQ $0x11, X7, X0, X0
	VPXOR (SI), X1, X1
	VPXOR X1, X0, X0
	SUBQ $16, BX
	JNZ  fold

done:
	REDUCE
	MOVL AX, ret+40(FP)
	RET
