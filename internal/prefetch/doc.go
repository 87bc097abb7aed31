// Package prefetch asks the processor for memory before it is needed.
//
// A simulation of thousands of hosts does not fit a processor's own caches, and
// waits for the shared one for most of its time. Whoever knows what comes next
// asks for it here, goes on, and finds it at hand later. An address that is not
// mapped, or nil, does no harm. Where there is no such instruction, nothing
// happens.
package prefetch
