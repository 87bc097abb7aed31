// Command kv is a key-value store whose clients read and write the server's memory themselves:
// a lookup is one READ, an update is a lock by CompareAndSwap and then one WriteThen, whose last
// part, the version, is seen only when the value before it is whole. The server's program
// takes no part, except to say where its memory is.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log"
	"strconv"
	"sync"

	"github.com/braid-rdma/braid"
)

// The table has fixed cells: version (8 bytes), lock (8), key (16), value (480). A version of
// zero is an empty cell.
const (
	cells     = 1024
	cellSize  = 512
	lockAt    = 8
	keyAt     = 16
	valueAt   = 32
	valueSize = cellSize - valueAt
)

// serve offers the table and tells clients where it is.
func serve(ctx context.Context, l *braid.Listener, c *braid.Context) {
	table, err := c.Alloc(cells*cellSize, braid.CanRead|braid.CanWrite|braid.CanAtomic)
	check(err)
	where, err := table.Remote().MarshalBinary()
	check(err)
	err = l.Serve(ctx, func(context.Context, *braid.Msg) ([]byte, error) { return where, nil })
	if !errors.Is(err, context.Canceled) && !errors.Is(err, braid.ErrClosed) {
		log.Fatal(err)
	}
}

// store is a client's view of the table.
type store struct {
	channel *braid.Channel
	table   braid.Remote
}

func dial(ctx context.Context, c *braid.Context, address string) *store {
	s := &store{}
	var err error
	s.channel, err = c.Dial(ctx, address)
	check(err)
	where, err := s.channel.Call(ctx, nil)
	check(err)
	defer where.Release()
	check(s.table.UnmarshalBinary(where.Bytes()))
	return s
}

// cell is where a key is. A real store would deal with keys that meet.
func (s *store) cell(key string) braid.Remote {
	h := fnv.New32a()
	h.Write([]byte(key))
	at := int(h.Sum32()%cells) * cellSize
	return s.table.Slice(at, at+cellSize)
}

var errMissing = errors.New("no such key")

// get reads a cell, and again if it has changed meanwhile.
func (s *store) get(ctx context.Context, key string) ([]byte, uint64, error) {
	var b [cellSize]byte
	var again [8]byte
	for {
		if err := s.channel.Read(ctx, b[:], s.cell(key)); err != nil {
			return nil, 0, err
		}
		if err := s.channel.Read(ctx, again[:], s.cell(key).Slice(0, 8)); err != nil {
			return nil, 0, err
		}
		version := binary.LittleEndian.Uint64(b[:])
		if version != binary.LittleEndian.Uint64(again[:]) || binary.LittleEndian.Uint64(b[lockAt:]) != 0 {
			continue // it is being written
		}
		if version == 0 {
			return nil, 0, fmt.Errorf("%w: %s", errMissing, key)
		}
		length := binary.LittleEndian.Uint16(b[valueAt:])
		return b[valueAt+2 : valueAt+2+length], version, nil
	}
}

// update locks a cell and changes its value.
func (s *store) update(ctx context.Context, key string, change func(old []byte) []byte) error {
	cell := s.cell(key)
	lock := cell.Slice(lockAt, lockAt+8)
	for {
		was, err := s.channel.CompareAndSwap(ctx, lock, 0, 1)
		if err != nil {
			return err
		}
		if was == 0 {
			break
		}
	}
	var b [cellSize]byte
	if err := s.channel.Read(ctx, b[:], cell); err != nil {
		return err
	}
	length := binary.LittleEndian.Uint16(b[valueAt:])
	value := change(b[valueAt+2 : valueAt+2+length])
	if len(value) > valueSize-2 {
		return fmt.Errorf("a value of %d bytes", len(value))
	}
	next := binary.LittleEndian.AppendUint16(nil, uint16(len(value)))
	next = append(next, value...)
	version := binary.LittleEndian.AppendUint64(nil, binary.LittleEndian.Uint64(b[:])+1)
	if err := s.channel.WriteThen(ctx, next, cell.Slice(valueAt, cellSize), version, cell.Slice(0, 8)); err != nil {
		return err
	}
	_, err := s.channel.CompareAndSwap(ctx, lock, 1, 0)
	return err
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server := open()
	defer server.Close()
	listener, err := server.Listen(0)
	check(err)
	go serve(ctx, listener, server)

	const clients, turns = 4, 100
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			c := open()
			defer c.Close()
			s := dial(ctx, c, listener.Addr().String())
			for range turns {
				check(s.update(ctx, "visits", func(old []byte) []byte {
					n, _ := strconv.Atoi(string(old)) // nothing yet is zero
					return strconv.AppendInt(nil, int64(n+1), 10)
				}))
			}
		})
	}
	all.Wait()
	c := open()
	defer c.Close()
	s := dial(ctx, c, listener.Addr().String())
	value, version, err := s.get(ctx, "visits")
	check(err)
	fmt.Printf("%d clients counted to %s, in %d versions\n", clients, value, version)
	_, _, err = s.get(ctx, "nobody")
	fmt.Println("a lookup in vain:", err)
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
