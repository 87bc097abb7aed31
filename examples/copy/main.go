// Command copy copies a file to another machine: the receiver offers memory, the sender writes
// blocks into it with several writes on their way, and a call at the end compares checksums.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/braid-rdma/braid"
)

const block = 1 << 20

// receive takes files: the first call says how long one is and gets memory for it, the second has its
// checksum and is responded to when the file is written.
func receive(ctx context.Context, l *braid.Listener, path string) error {
	ch, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	defer ch.Close()
	m, err := ch.Receive(ctx)
	if err != nil {
		return err
	}
	defer m.Release()
	if m.Len() != 8 {
		return m.Fail(ctx, errors.New("want the length of the file"))
	}
	memory, err := ch.Context().Alloc(int(binary.BigEndian.Uint64(m.Bytes())), braid.CanWrite)
	if err != nil {
		return errors.Join(err, m.Fail(ctx, err))
	}
	defer memory.Close()
	where, err := memory.Remote().MarshalBinary()
	if err != nil {
		return err
	}
	if err := m.Reply(ctx, where); err != nil {
		return err
	}
	end, err := ch.Receive(ctx)
	if err != nil {
		return err
	}
	defer end.Release()
	// The sender's writes were complete before it called, so that the bytes are at rest.
	sum := sha256.Sum256(memory.Bytes())
	if !bytes.Equal(sum[:], end.Bytes()) {
		return end.Fail(ctx, errors.New("the checksum differs"))
	}
	if err := os.WriteFile(path, memory.Bytes(), 0o600); err != nil {
		return errors.Join(err, end.Fail(ctx, err))
	}
	return end.Reply(ctx, nil)
}

// send copies a file into the memory that the receiver offers.
func send(ctx context.Context, ch *braid.Channel, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	where, err := ch.Call(ctx, binary.BigEndian.AppendUint64(nil, uint64(info.Size())))
	if err != nil {
		return err
	}
	defer where.Release()
	var to braid.Remote
	if err := to.UnmarshalBinary(where.Bytes()); err != nil {
		return err
	}
	sum := sha256.New()
	var writes sync.WaitGroup
	failed := make(chan error, 1)
	for at := 0; at < to.Len(); at += block {
		b := make([]byte, min(block, to.Len()-at))
		if _, err := io.ReadFull(f, b); err != nil {
			return err
		}
		sum.Write(b)
		writes.Go(func() {
			if err := ch.Write(ctx, b, to.Slice(at, at+len(b))); err != nil {
				select {
				case failed <- err:
				default:
				}
			}
		})
	}
	writes.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	done, err := ch.Call(ctx, sum.Sum(nil))
	if err == nil {
		done.Release()
	}
	return err
}

func main() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "braid-copy")
	check(err)
	defer os.RemoveAll(dir)
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	content := make([]byte, 20<<20+123)
	_, err = rand.NewChaCha8([32]byte{}).Read(content)
	check(err)
	check(os.WriteFile(from, content, 0o600))

	server, client := open(), open()
	defer server.Close()
	defer client.Close()
	listener, err := server.Listen(0)
	check(err)
	received := make(chan error, 1)
	go func() { received <- receive(ctx, listener, to) }()
	channel, err := client.Dial(ctx, listener.Addr().String())
	check(err)
	f, err := os.Open(from)
	check(err)
	defer f.Close()
	check(send(ctx, channel, f))
	check(channel.Close())
	check(<-received)
	got, err := os.ReadFile(to)
	check(err)
	fmt.Printf("copied %d bytes, equal: %v\n", len(got), bytes.Equal(got, content))
}

func open() *braid.Context {
	c, err := braid.Open(braid.Config{})
	check(err)
	return c
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
