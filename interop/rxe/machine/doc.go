// Package machine boots a small virtual machine in which the Linux kernel's own
// RoCE driver, rdma_rxe, runs on a network interface that ends at this host.
//
//	Requirements ──> what this host lacks, by name
//	BuildImage: Kernel (Debian's, downloaded once) ─┐
//	            programs and their libraries ───────┼─> a folder
//	            guestinit, built here ──────────────┘     │
//	Isolate ──> this program again, in a network namespace of its own
//	Boot:       tap device ══ qemu, with the folder's kernel and initramfs ──> guestinit ──> agent
//	            Machine.Run, Start, Close
//
// The tap device belongs to a file descriptor that only qemu has after the
// start, and the process of qemu ends with this one, so nothing is left behind
// however a test ends. In a network namespace of its own, addresses and filter
// rules vanish as well. BuildImage comes before, since a namespace has no way to
// the world.
//
// The processor is emulated: the machine runs anywhere, and everything in it is
// slow. Only ratios between what is measured inside of it mean something.
package machine
