package udp

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkLoopback moves packets of 4 KiB from one thread to another, with the work
// that the engine does for each: the sender computes a CRC over the packet, the receiver
// checks it and copies the payload to its place. It reports the goodput in Gb/s.
func BenchmarkLoopback(b *testing.B) {
	for _, batch := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("recvBatch=%d", batch), func(b *testing.B) {
			benchmarkLoopback(b, 4096, rxOptions{batch: batch, rcvbuf: 16 << 20}, txOptions{})
		})
	}
	for _, payload := range []int{64, 1024} {
		b.Run(fmt.Sprintf("payload=%d", payload), func(b *testing.B) {
			benchmarkLoopback(b, payload, rxOptions{rcvbuf: 16 << 20}, txOptions{})
		})
	}
	b.Run("noGSO", func(b *testing.B) {
		benchmarkLoopback(b, 4096, rxOptions{rcvbuf: 16 << 20, noGRO: true}, txOptions{noGSO: true})
	})
}

// The memory that packets come from and go to.
var benchSource, benchTarget [1 << 20]byte

const (
	benchHeader  = 28
	benchTrailer = 4
	benchWindow  = 1 << 20 // bytes in flight, well below the socket buffer
)

func benchmarkLoopback(b *testing.B, payload int, rxOpt rxOptions, txOpt txOptions) {
	rx, err := openRx(netip.AddrPortFrom(loopback4, 0), rxOpt)
	if err != nil {
		b.Fatal(err)
	}
	defer rx.close()
	pool, err := openTxPool(loopback4, 0, 4, txOpt)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.close()
	dst, err := newDestination(rx.local)
	if err != nil {
		b.Fatal(err)
	}
	var arrived atomic.Int64
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- benchReceive(rx, payload, &arrived, stop) }()

	b.SetBytes(int64(payload))
	b.ReportAllocs()
	b.ResetTimer()
	runtime.LockOSThread()
	benchSend(newTxBatch(pool, 0), dst, payload, b.N, &arrived)
	deadline := time.Now().Add(time.Second)
	for arrived.Load() < int64(b.N) && time.Now().Before(deadline) {
		yieldCore()
	}
	b.StopTimer()
	runtime.UnlockOSThread()
	close(stop)
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	if lost := int64(b.N) - arrived.Load(); lost != 0 {
		b.Fatalf("%d packets of %d were lost", lost, b.N)
	}
	b.ReportMetric(float64(b.N)*float64(payload)*8/float64(b.Elapsed().Nanoseconds()), "Gb/s")
}

// yieldCore gives the core to another thread that wants it. The Go scheduler's own
// yield would cost a locked thread two switches, and a bare spin would burn the time slice
// that the other side needs when the machine is busy.
func yieldCore() {
	_, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
}

// BenchmarkReceiveCost compares batch sizes of recv by processor time, which says more
// than goodput on a busy machine: one thread sends half a megabyte and takes it back.
func BenchmarkReceiveCost(b *testing.B) {
	for _, batch := range []int{1, 2, 4, 8, 16} {
		b.Run(fmt.Sprintf("recvBatch=%d", batch), func(b *testing.B) {
			rx, err := openRx(netip.AddrPortFrom(loopback4, 0), rxOptions{batch: batch, rcvbuf: 16 << 20})
			if err != nil {
				b.Fatal(err)
			}
			defer rx.close()
			pool, err := openTxPool(loopback4, 0, 4, txOptions{})
			if err != nil {
				b.Fatal(err)
			}
			defer pool.close()
			dst, err := newDestination(rx.local)
			if err != nil {
				b.Fatal(err)
			}
			measureReceive(b, rx, newTxBatch(pool, 0), dst)
		})
	}
}

// measureReceive reports the processor time of receiving, checking and copying 4 KiB.
func measureReceive(b *testing.B, rx *rxSocket, batch *txBatch, dst *destination) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const burst = 120 // packets: eight messages of 15
	var arrived atomic.Int64
	var spent time.Duration
	stop := make(chan struct{})
	close(stop) // benchReceive returns as soon as the socket is empty
	packets := 0
	for b.Loop() {
		arrived.Store(1 << 62) // no window: the burst fits the socket buffer
		benchSend(batch, dst, 4096, burst, &arrived)
		start := threadTime(b)
		if err := benchReceive(rx, 4096, &arrived, stop); err != nil {
			b.Fatal(err)
		}
		spent += threadTime(b) - start
		packets += burst
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(packets), "recv-cpu-ns/packet")
}

// threadTime returns the processor time that the thread has used.
func threadTime(b *testing.B) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		b.Fatal(err)
	}
	return time.Duration(ts.Nano())
}

// benchSend sends n packets in runs of 64 KiB that go round the paths.
func benchSend(batch *txBatch, dst *destination, payload, n int, arrived *atomic.Int64) {
	memory := benchSource[:]
	run := min(maxSegments, maxMessage/(payload+benchHeader+benchTrailer))
	window := int64(max(benchWindow/(payload+256), 2*run))
	for sent := 0; sent < n; {
		for int64(sent)-arrived.Load() > window-int64(run) {
			yieldCore()
		}
		path := sent / run % len(batch.queues)
		for range min(run, n-sent) {
			if _, ok := batch.begin(path, dst, 0, payload+benchHeader+benchTrailer); !ok {
				break
			}
			header := batch.header(benchHeader)
			binary.BigEndian.PutUint64(header, uint64(sent))
			at := sent * payload % (len(memory) - payload)
			source := memory[at : at+payload]
			batch.payload(source)
			crc := crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, source)
			binary.LittleEndian.PutUint32(batch.header(benchTrailer), crc)
			sent++
		}
		batch.flush()
	}
}

// benchReceive checks and copies packets until stop is closed.
func benchReceive(rx *rxSocket, payload int, arrived *atomic.Int64, stop <-chan struct{}) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	memory := benchTarget[:]
	for at := 0; ; {
		n, err := rx.recv()
		if err != nil {
			return err
		}
		if n == 0 {
			select {
			case <-stop:
				return nil
			default:
				yieldCore()
				continue
			}
		}
		for i := range n {
			m := rx.message(i)
			packets := 0
			for data := m.data; len(data) > 0; packets++ {
				packet := data[:min(m.segment, len(data))]
				data = data[len(packet):]
				body := packet[:len(packet)-benchTrailer]
				if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(packet[len(body):]) {
					return fmt.Errorf("a packet of %d bytes from %v is damaged", len(packet), m.src)
				}
				at = (at + payload) % (len(memory) - payload)
				copy(memory[at:], body[benchHeader:])
			}
			arrived.Add(int64(packets))
		}
	}
}
