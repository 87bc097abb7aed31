package braid

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/braid-rdma/braid/verbs"
)

// remote registers memory of one end and tells it the other, as programs do.
func remote(t *testing.T, from, to *Channel, length int, peers Access) (*Memory, Remote) {
	t.Helper()
	m, err := from.Context().Alloc(length, peers)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Remote().MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := from.Send(soon(t), b); err != nil {
		t.Fatal(err)
	}
	msg, err := to.Receive(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	defer msg.Release()
	var r Remote
	if err := r.UnmarshalBinary(msg.Bytes()); err != nil {
		t.Fatal(err)
	}
	return m, r
}

func TestOneSided(t *testing.T) {
	a, b := pair(t, Config{})
	m, r := remote(t, b, a, 3<<20, CanRead|CanWrite|CanAtomic)
	for _, n := range []int{0, 1, 8, 4096, 65537, 3 << 20} {
		want := payload(n)
		if err := a.Write(soon(t), want, r); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, n)
		if err := m.Load(0, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes are not written: %v", n, err)
		}
		clear(got)
		if err := a.Read(soon(t), got, r); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes are not read: %v", n, err)
		}
	}
	if err := a.Write(soon(t), make([]byte, r.Len()+1), r); !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("a byte too many: %v", err)
	}
}

func TestAtomics(t *testing.T) {
	a, b := pair(t, Config{})
	m, r := remote(t, b, a, 64, CanAtomic)
	cell := r.Slice(8, 16)
	for want := range uint64(10) {
		if was, err := a.FetchAdd(soon(t), cell, 1); err != nil || was != want {
			t.Fatalf("FetchAdd: %d, %v; want %d", was, err, want)
		}
	}
	if was, err := a.CompareAndSwap(soon(t), cell, 9, 77); err != nil || was != 10 {
		t.Errorf("CompareAndSwap of a wrong value: %d, %v", was, err)
	}
	if was, err := a.CompareAndSwap(soon(t), cell, 10, 77); err != nil || was != 10 {
		t.Errorf("CompareAndSwap: %d, %v", was, err)
	}
	if v, err := m.LoadUint64(8); err != nil || v != 77 {
		t.Errorf("the memory has %d, %v", v, err)
	}
	if _, err := a.FetchAdd(soon(t), r.Slice(4, 12), 1); !errors.Is(err, verbs.ErrAtomicShape) {
		t.Errorf("an atomic that is not aligned: %v", err)
	}
}

// Who sees the flag sees what was written before it.
func TestWriteThen(t *testing.T) {
	a, b := pair(t, Config{})
	m, r := remote(t, b, a, 1<<20+8, CanWrite)
	var writing sync.WaitGroup
	defer writing.Wait() // the last byte is there before its acknowledgement
	writing.Go(func() {
		for round := byte(1); round <= 20; round++ {
			data := bytes.Repeat([]byte{round}, 1<<20)
			if err := a.WriteThen(t.Context(), data, r, []byte{round}, r.Slice(1<<20, 1<<20+1)); err != nil {
				t.Error(err)
			}
			for flag := []byte{round}; flag[0] != 0 && !t.Failed(); { // the reader clears it
				if err := m.Load(1<<20, flag); err != nil {
					t.Error(err)
				}
				time.Sleep(10 * time.Microsecond)
			}
		}
	})
	got := make([]byte, 1<<20)
	for round := byte(1); round <= 20; round++ {
		for flag := []byte{0}; flag[0] != round; {
			if err := m.Load(1<<20, flag); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Microsecond)
		}
		if err := m.Load(0, got); err != nil {
			t.Fatal(err)
		}
		if bytes.Count(got, []byte{round}) != len(got) {
			t.Fatalf("round %d: the flag came before the data", round)
		}
		if err := m.Store(1<<20, []byte{0}); err != nil {
			t.Fatal(err)
		}
	}
}

// A wrong access ends the channel, at both ends, and no byte moves.
func TestForbiddenAccess(t *testing.T) {
	a, b := pair(t, Config{})
	m, r := remote(t, b, a, 4096, CanRead)
	err := a.Write(soon(t), []byte("forbidden"), r)
	if !errors.Is(err, verbs.ErrRemoteAccess) {
		t.Fatalf("a write without the right: %v", err)
	}
	<-a.Done()
	<-b.Done()
	if !bytes.Equal(m.Bytes(), make([]byte, 4096)) {
		t.Error("memory has changed")
	}
	if err := a.Send(soon(t), nil); err == nil {
		t.Error("a channel that has ended sends")
	}
}

// A read that is given up does not touch the memory afterwards.
func TestReadGivenUp(t *testing.T) {
	a, b := pair(t, Config{})
	m, r := remote(t, b, a, 32<<20, CanRead)
	if err := m.Store(0, bytes.Repeat([]byte{1}, r.Len())); err != nil {
		t.Fatal(err)
	}
	dst := make([]byte, r.Len())
	for tries := 0; giveUpRead(t, a, dst, r) == nil; tries++ {
		if tries == 100 {
			t.Fatal("every read was complete before it was given up")
		}
	}
	clear(dst)
	if err := a.Read(soon(t), make([]byte, 1<<20), r); err != nil { // after the rest of the first
		t.Fatal(err)
	}
	if !bytes.Equal(dst, make([]byte, len(dst))) {
		t.Error("memory that was given back is written")
	}
}

// giveUpRead ends a read when it is under way.
func giveUpRead(t *testing.T, ch *Channel, dst []byte, from Remote) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for underWay := false; !underWay && ctx.Err() == nil; {
			ch.context.exclusive(func() { underWay = ch.reads > 0 })
		}
		cancel()
	}()
	return ch.Read(ctx, dst, from)
}

func TestRemoteFile(t *testing.T) {
	a, b := pair(t, Config{})
	_, r := remote(t, b, a, 100000, CanRead|CanWrite)
	f := a.At(soon(t), r)
	want := payload(100000)
	if n, err := io.Copy(io.NewOffsetWriter(f, 0), bytes.NewReader(want)); n != 100000 || err != nil {
		t.Fatalf("copy to the peer: %d, %v", n, err)
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes come back: %v", len(got), err)
	}
	if n, err := f.ReadAt(make([]byte, 10), 99995); n != 5 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
	if n, err := f.WriteAt(make([]byte, 10), 99995); n != 5 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("beyond the end: %d, %v", n, err)
	}
}

// A part of no bytes can be told to a peer as any other, which then reads and writes nothing.
func TestRemoteOfNoBytes(t *testing.T) {
	a, b := pair(t, Config{})
	_, r := remote(t, b, a, 64, CanRead|CanWrite)
	text, err := r.Slice(8, 8).MarshalBinary()
	var part Remote
	if err == nil {
		err = part.UnmarshalBinary(text)
	}
	if err != nil || part != r.Slice(8, 8) {
		t.Fatalf("%v as %v: %v", r.Slice(8, 8), part, err)
	}
	if err := errors.Join(a.Read(soon(t), nil, part), a.Write(soon(t), nil, part)); err != nil {
		t.Error(err)
	}
	for _, beyond := range []Remote{{addr: ^uint64(0), length: 2}, {length: 1 << 63}} {
		text, _ := beyond.MarshalBinary()
		if err := part.UnmarshalBinary(text); err == nil {
			t.Errorf("memory beyond all addresses: %v", part)
		}
	}
}
