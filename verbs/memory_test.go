package verbs

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"testing"
	"unsafe"

	"github.com/braid-rdma/braid/transport"
)

func newTestPD(t testing.TB) (*Device, *PD) {
	t.Helper()
	d := Open(newIdleEngine())
	t.Cleanup(func() { d.Close() })
	pd, err := d.CreatePD()
	if err != nil {
		t.Fatal(err)
	}
	return d, pd
}

// Every way to be outside is refused.
func TestResolve(t *testing.T) {
	d, pd := newTestPD(t)
	m, err := pd.AllocMemory(100, LocalWrite|RemoteWrite|RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	base, key := m.Addr(), m.RKey()
	for _, c := range []struct {
		name   string
		pd     transport.PD
		key    RKey
		va     uint64
		length uint32
		want   Access
		ok     bool
	}{
		{"all", pd.id, key, base, 100, RemoteWrite, true},
		{"last byte", pd.id, key, base + 99, 1, RemoteRead, true},
		{"beyond by one", pd.id, key, base + 1, 100, RemoteWrite, false},
		{"first byte beyond", pd.id, key, base + 100, 1, RemoteWrite, false},
		{"before", pd.id, key, base - 1, 1, RemoteWrite, false},
		{"address and length overflow", pd.id, key, math.MaxUint64, 2, RemoteWrite, false},
		{"overflow into the region", pd.id, key, base - (1 << 31), 1<<31 + 50, RemoteWrite, false},
		{"wrong key", pd.id, key ^ 1, base, 1, RemoteWrite, false},
		{"local key", pd.id, RKey(m.LKey()), base, 1, RemoteWrite, false},
		{"wrong domain", pd.id + 1, key, base, 1, RemoteWrite, false},
		{"missing right", pd.id, key, base, 8, RemoteAtomic, false},
		{"one right of two", pd.id, key, base, 8, RemoteRead | RemoteAtomic, false},
		{"nothing, wrong key", pd.id, 0, 0, 0, RemoteWrite, true},
	} {
		s, ok := d.first().memory.Resolve(c.pd, c.key, c.va, c.length, c.want)
		if ok != c.ok {
			t.Errorf("%s: %v, want %v", c.name, ok, c.ok)
		}
		if ok && (s.Length != c.length || len(s.Bytes()) != int(c.length)) {
			t.Errorf("%s: span %+v", c.name, s)
		}
		if ok && c.length > 0 && s.Offset != c.va-base {
			t.Errorf("%s: offset %d", c.name, s.Offset)
		}
	}
	m.Deregister()
	if _, ok := d.first().memory.Resolve(pd.id, key, base, 1, RemoteWrite); ok {
		t.Error("a deregistered region is granted")
	}
	if !m.region.Invalid || d.Query().RegisteredBytes != 0 {
		t.Error("deregistering left something behind")
	}
}

func TestAccessRights(t *testing.T) {
	_, pd := newTestPD(t)
	for access, want := range map[Access]error{
		0: nil, RemoteRead: nil, LocalWrite | RemoteWrite: nil, LocalWrite | RemoteAtomic | RemoteInvalidate: nil,
		RemoteWrite: ErrAccess, RemoteAtomic: ErrAccess, 1 << 6: ErrAccess,
	} {
		if _, err := pd.RegisterMemory(make([]byte, 8), access); !errors.Is(err, want) {
			t.Errorf("rights %#x: %v, want %v", access, err, want)
		}
	}
}

func TestRegionSizes(t *testing.T) {
	_, pd := newTestPD(t)
	if _, err := pd.RegisterMemory(nil, 0); !errors.Is(err, ErrRange) {
		t.Errorf("empty region: %v", err)
	}
	if _, err := pd.AllocMemory(-1, 0); !errors.Is(err, ErrRange) {
		t.Errorf("negative size: %v", err)
	}
	if huge := uint64(MaxRegion); uint64(int(huge)) == huge { // not where an int has 32 bits
		if _, err := pd.AllocMemory(int(huge), 0); !errors.Is(err, ErrNoMemory) {
			t.Errorf("more memory than any machine has: %v", err)
		}
	}
	m, err := pd.AllocMemory(10, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Addr()%pageSize != 0 || m.Len() != 10 || cap(m.Bytes()) != 10 {
		t.Errorf("region at %#x, length %d, capacity %d", m.Addr(), m.Len(), cap(m.Bytes()))
	}
	if m.Addr() != uint64(uintptr(unsafe.Pointer(&m.Bytes()[0]))) {
		t.Error("the address is not that of the memory")
	}
}

func TestInvalidateNeedsRightAndDomain(t *testing.T) {
	d, pd := newTestPD(t)
	plain, _ := pd.AllocMemory(8, RemoteRead)
	open, _ := pd.AllocMemory(8, RemoteRead|RemoteInvalidate)
	key := open.RKey()
	if d.first().memory.Invalidate(pd.id, plain.RKey()) || d.first().memory.Invalidate(pd.id+1, key) || d.first().memory.Invalidate(pd.id, key^1) {
		t.Error("an invalidation without the right was granted")
	}
	if !d.first().memory.Invalidate(pd.id, key) || d.first().memory.Invalidate(pd.id, key) {
		t.Error("a key must be invalidated exactly once")
	}
	if _, ok := d.first().memory.Resolve(pd.id, key, open.Addr(), 1, RemoteRead); ok {
		t.Error("an invalidated key is granted")
	}
	fresh, err := open.Rekey()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := d.first().memory.Resolve(pd.id, fresh, open.Addr(), 1, RemoteRead); !ok {
		t.Error("the new key is refused")
	}
}

func TestAtomicOnMemory(t *testing.T) {
	d, pd := newTestPD(t)
	m, _ := pd.AllocMemory(24, LocalWrite|RemoteAtomic)
	s, ok := d.first().memory.Resolve(pd.id, m.RKey(), m.Addr()+8, 8, RemoteAtomic)
	if !ok {
		t.Fatal("refused")
	}
	if err := m.StoreUint64(8, math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	if old := d.first().memory.Atomic(s, transport.FetchAdd, 2, 0); old != math.MaxUint64 {
		t.Errorf("fetch-and-add answered %d", old)
	}
	if old := d.first().memory.Atomic(s, transport.CompareSwap, 1, 9); old != 1 {
		t.Errorf("compare-and-swap answered %d", old)
	}
	if old := d.first().memory.Atomic(s, transport.CompareSwap, 1, 7); old != 9 {
		t.Errorf("failing compare-and-swap answered %d", old)
	}
	if v, err := m.LoadUint64(8); v != 9 || err != nil {
		t.Errorf("memory holds %d, %v", v, err)
	}
	d.first().memory.Store(transport.Span{Region: m.region, Offset: 3, Length: 8}, 0x0102030405060708)
	var got [8]byte
	if err := m.Load(3, got[:]); err != nil || *(*uint64)(unsafe.Pointer(&got)) != 0x0102030405060708 {
		t.Errorf("stored %x, %v", got, err)
	}
}

func TestLoadsCheckBounds(t *testing.T) {
	_, pd := newTestPD(t)
	m, _ := pd.AllocMemory(20, LocalWrite)
	for _, off := range []int{-8, 4, 16, 24, math.MaxInt} {
		if _, err := m.LoadUint64(off); !errors.Is(err, ErrRange) {
			t.Errorf("LoadUint64 at %d: %v", off, err)
		}
		if err := m.StoreUint64(off, 1); !errors.Is(err, ErrRange) {
			t.Errorf("StoreUint64 at %d: %v", off, err)
		}
	}
	if _, err := m.LoadUint32(16); err != nil {
		t.Error(err)
	}
	if _, err := m.LoadUint32(2); !errors.Is(err, ErrRange) {
		t.Errorf("unaligned LoadUint32: %v", err)
	}
	if err := m.Load(19, make([]byte, 2)); !errors.Is(err, ErrRange) {
		t.Errorf("Snapshot beyond the end: %v", err)
	}
}

// When Replace has returned, the memory that was there is the program's alone, also where another thread
// stores and loads meanwhile.
func TestReplaceBesideStores(t *testing.T) {
	const rounds, size = 5000, 64
	_, pd := newTestPD(t)
	m, err := pd.AllocMemory(size, LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		var err error
		ones := bytes.Repeat([]byte{1}, size)
		for i := 0; i < rounds && err == nil; i++ {
			_, load := m.LoadUint32(0)
			err = errors.Join(m.Store(0, ones), m.StoreUint64(8, 1), m.Load(0, make([]byte, size)), load)
		}
		done <- err
	}()
	var given [][]byte
	for former, running := m.Bytes(), true; running; {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		default:
		}
		next := make([]byte, size)
		if err := m.Replace(next); err != nil {
			t.Fatal(err)
		}
		clear(former)
		given = append(given, former)
		former = next
	}
	for i, b := range given {
		if !bytes.Equal(b, make([]byte, size)) {
			t.Fatalf("memory %d was written after Replace had given it back: %v", i, b)
		}
	}
}

// Numbers that an element cannot say are refused when they are posted, also where
// the region is larger than the longest element: none wraps round to one that fits.
func TestSGEOfALargeRegion(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("regions are smaller where an int has 32 bits")
	}
	q, _, _, _ := newDatagramQP(t)
	m := &MR{pd: q.pd, region: &transport.Region{Length: 1 << 40, PD: q.pd.id, Access: LocalWrite}}
	for _, c := range []struct {
		offset, length int64
		want           error
	}{
		{-1, 1, ErrRange},
		{0, -1, ErrRange},
		{math.MinInt, math.MinInt, ErrRange},
		{1, 1 << 40, ErrTooLong},
		{math.MaxInt, 1, ErrRange},
		{0, 1<<32 + 1, ErrTooLong},
		{0, 1 << 32, ErrTooLong},
		{1 << 40, 1, ErrRange},
		{1<<40 - 1, 1, nil},
	} {
		if err := q.PostRecv(&RecvWR{SGEs: []SGE{m.SGE(int(c.offset), int(c.length))}}); !errors.Is(err, c.want) {
			t.Errorf("%d bytes at %d: %v, want %v", c.length, c.offset, err, c.want)
		}
	}
	if err := q.PostRecv(&RecvWR{SGEs: []SGE{m.All()}}); !errors.Is(err, ErrTooLong) {
		t.Errorf("all of it: %v", err)
	}
}

func TestKeysAreDistinct(t *testing.T) {
	_, pd := newTestPD(t)
	seen := make(map[uint32]bool)
	for range 2000 {
		m, err := pd.RegisterMemory(make([]byte, 1), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []uint32{uint32(m.LKey()), uint32(m.RKey())} {
			if k == 0 || seen[k] {
				t.Fatalf("key %#x is zero or used twice", k)
			}
			seen[k] = true
		}
	}
}

// TestWithBytes: memory is lent while it is registered, and not after.
func TestWithBytes(t *testing.T) {
	_, pd := newTestPD(t)
	m, _ := pd.AllocMemory(8, LocalWrite)
	lent := 0
	if err := m.WithBytes(func(b []byte) { lent = len(b) }); err != nil || lent != 8 {
		t.Errorf("%d bytes, %v, want 8", lent, err)
	}
	if err := m.Deregister(); err != nil {
		t.Fatal(err)
	}
	if err := m.WithBytes(func([]byte) { t.Error("memory that was deregistered is lent") }); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}
