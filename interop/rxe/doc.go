// Package rxe holds the tests of braid against the Linux kernel's own RoCE
// driver, rdma_rxe, and against the unmodified programs of Debian that use it.
//
//	TestMain ──> a network namespace of its own ──> machine.Boot, once for all tests
//	tests    ──> braid here ══ tap device ══ rdma_rxe and its programs in the machine
//
// Package machine boots the virtual machine, package agent runs programs in it,
// and testdata/verbsd.c is the one program of ours in there: it does with
// libibverbs what no stock program can be asked for, at the command of the tests.
//
// The tests skip, and say why, where the host cannot run the machine.
package rxe
