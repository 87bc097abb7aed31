package braid

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/braid-rdma/braid/internal/pages"
	"github.com/braid-rdma/braid/verbs"
)

// Debug mode of the memory cache (Config.DebugMemory). Each buffer lies between two red zones, and one that
// is free has a pattern in it; both are looked at when the buffer is freed, used again or unmapped, so that who wrote where it
// must not is found out, and with what the buffer was.

const (
	// redZone is what lies before and behind a buffer: a cache line, so that what is aligned stays so.
	redZone = 64
	// zoneByte fills the red zones, and freeByte what is free.
	zoneByte = 0xca
	freeByte = 0xdf
)

// MemoryError is a wrong use of the memory of messages, found by debug mode, which panics with it.
type MemoryError struct {
	Fault     string  // what was done
	Addr      uintptr // of the buffer
	Size      int     // of the buffer
	Offset    int     // of the first byte that has changed, from Addr; negative: before it
	Found     []byte  // what is there now
	Allocated string  // where the buffer was allocated last, and where freed: functions and lines
	Freed     string
}

// Error implements error.
func (e *MemoryError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "braid: memory: %s: buffer of %d bytes at %#x", e.Fault, e.Size, e.Addr)
	if len(e.Found) > 0 {
		fmt.Fprintf(&b, ", at offset %d is % x", e.Offset, e.Found)
	}
	if e.Allocated != "" {
		fmt.Fprintf(&b, "\nallocated at\n%s", e.Allocated)
	}
	if e.Freed != "" {
		fmt.Fprintf(&b, "\nfreed at\n%s", e.Freed)
	}
	return b.String()
}

// seal tells debug mode which part of a block the program sees.
func (m *memoryCache) seal(b *block, from, to int) {
	if m.debug != nil {
		b.trail.changes.Lock()
		defer b.trail.changes.Unlock()
		b.trail.seal(redZone+from, redZone+to)
	}
}

// noteRelease keeps where a message was released, and releasedTwice reports that it is once more.
func (m *memoryCache) noteRelease(msg *Msg) {
	if m.debug != nil {
		msg.freed = &release{addr: uintptr(unsafe.Pointer(unsafe.SliceData(msg.in.Payload))), at: here()}
	}
}

func (m *memoryCache) releasedTwice(msg *Msg) {
	if m.debug != nil {
		m.debug.report(&MemoryError{Fault: "message released twice", Addr: msg.freed.addr, Size: msg.Len(), Freed: msg.freed.at.String()})
	}
}

// release is what became of a message's memory.
type release struct {
	addr uintptr
	at   places
}

// places are a call stack.
type places []uintptr

// here is the stack of the caller's caller.
func here() places {
	var stack [12]uintptr
	return append(places(nil), stack[:runtime.Callers(3, stack[:])]...)
}

func (p places) String() string {
	if len(p) == 0 {
		return ""
	}
	var b strings.Builder
	frames := runtime.CallersFrames(p)
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return strings.TrimRight(b.String(), "\n")
}

// trail is what debug mode knows of a block.
type trail struct {
	live         atomic.Bool
	changes      sync.Mutex // held by who takes or frees the block, and by who looks at it meanwhile
	whole        []byte     // with the red zones
	from, to     int        // the payload, in whole
	taken, freed places
}

// memoryDebug is debug mode.
type memoryDebug struct{ report func(*MemoryError) }

// mapped begins the life of a region.
func (d *memoryDebug) mapped(r *region, stride int) {
	fill(r.mapping.Bytes, freeByte)
	for i, b := range r.blocks {
		b.trail = &trail{whole: r.mapping.Bytes[i*stride : (i+1)*stride], from: redZone, to: redZone}
	}
}

// unmapped looks a last time at a region that is free.
func (d *memoryDebug) unmapped(r *region) {
	for _, b := range r.blocks {
		d.checkFree(b)
	}
}

// taken hands a block out for a payload of some length.
func (d *memoryDebug) taken(b *block, length int) {
	at := here()
	b.trail.changes.Lock()
	defer b.trail.changes.Unlock()
	d.checkFree(b)
	b.trail.begin(redZone, redZone+length, at)
}

// begin hands memory out.
func (t *trail) begin(from, to int, at places) {
	t.taken, t.freed = at, nil
	t.seal(from, to)
	t.live.Store(true)
}

// seal says which part the program sees: what is around it becomes red zones.
func (t *trail) seal(from, to int) {
	t.from, t.to = from, to
	before, behind := t.zones()
	fill(before, zoneByte)
	fill(behind, zoneByte)
}

// zones are the red zones. Behind memory that ends at a guard page there may be less.
func (t *trail) zones() (before, behind []byte) {
	return t.whole[t.from-redZone : t.from], t.whole[t.to:min(t.to+redZone, len(t.whole))]
}

// freed takes a block back. It returns false if it is free already.
func (d *memoryDebug) freed(b *block) bool {
	t := b.trail
	at := here()
	t.changes.Lock()
	defer t.changes.Unlock()
	if !t.live.Swap(false) {
		d.report(t.describe("freed twice"))
		return false
	}
	t.freed = at
	d.checkZones(t)
	fill(t.whole, freeByte)
	return true
}

// checkAll looks at the blocks of regions, wherever they are.
func (d *memoryDebug) checkAll(regions []*region) {
	for _, r := range regions {
		for _, b := range r.blocks {
			if r.mr != nil {
				d.checkOne(b)
			}
		}
	}
}

// checkOne looks at a block, which the program may be about to free.
func (d *memoryDebug) checkOne(b *block) {
	b.trail.changes.Lock()
	defer b.trail.changes.Unlock()
	if b.trail.live.Load() {
		d.checkZones(b.trail)
	} else {
		d.checkFree(b)
	}
}

func (d *memoryDebug) checkZones(t *trail) {
	before, behind := t.zones()
	d.check(t, before, t.from-redZone, zoneByte, "write before the start")
	d.check(t, behind, t.to, zoneByte, "write behind the end")
}

func (d *memoryDebug) checkFree(b *block) {
	d.check(b.trail, b.trail.whole, 0, freeByte, "write after it was freed")
}

// check reports the first byte of a part, which begins at from, that is not what it should be.
func (d *memoryDebug) check(t *trail, part []byte, from int, want byte, fault string) {
	at := firstOther(part, want)
	if at < 0 {
		return
	}
	e := t.describe(fault)
	e.Offset = from + at - t.from
	e.Found = bytes.Clone(part[at:min(at+16, len(part))])
	d.report(e)
}

func (t *trail) describe(fault string) *MemoryError {
	return &MemoryError{
		Fault: fault, Addr: uintptr(unsafe.Pointer(&t.whole[t.from])), Size: t.to - t.from,
		Allocated: t.taken.String(), Freed: t.freed.String(),
	}
}

// guarded is memory of the program with a mapping of its own, which ends at the guard page.
type guarded struct {
	trail
	mapping pages.Mapping
	debug   *memoryDebug
}

func (d *memoryDebug) alloc(length int) (*guarded, error) {
	page := os.Getpagesize()
	size := (length + redZone + page - 1) &^ (page - 1)
	mapping, err := pages.Map(size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", verbs.ErrNoMemory, err)
	}
	g := &guarded{mapping: mapping, debug: d}
	g.whole = mapping.Bytes
	from := (size - length) &^ (redZone - 1)
	g.begin(from, from+length, here())
	return g, nil
}

func (g *guarded) bytes() []byte { return g.whole[g.from:g.to:g.to] }

// close looks at the red zones and ends the mapping: who uses the memory afterwards faults.
func (g *guarded) close() {
	if g.live.Swap(false) {
		g.freed = here()
		g.debug.checkZones(&g.trail)
		g.mapping.Unmap()
	}
}

func fill(b []byte, value byte) {
	if len(b) > 0 {
		b[0] = value
	}
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// firstOther is the place of the first byte that is not value, or -1.
func firstOther(b []byte, value byte) int {
	// All are value if the first is and each is what the one before it is.
	if len(b) == 0 || b[0] == value && bytes.Equal(b[1:], b[:len(b)-1]) {
		return -1
	}
	return slices.IndexFunc(b, func(found byte) bool { return found != value })
}
