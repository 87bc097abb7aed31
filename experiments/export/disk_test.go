package export

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// fullDisk is a file on a disk that has room for a number of bytes and then
// answers as the kernel does.
type fullDisk struct {
	room      int
	syncError error
	published bool
	discarded bool
}

func (d *fullDisk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		n := d.room
		d.room = 0
		return n, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	d.room -= len(b)
	return len(b), nil
}

func (d *fullDisk) Sync() error          { return d.syncError }
func (d *fullDisk) Close() error         { return nil }
func (d *fullDisk) publish(string) error { d.published = true; return nil }
func (d *fullDisk) discard()             { d.discarded = true }

func TestAFullDiskIsReportedAndCleanedUp(t *testing.T) {
	schema := Schema{{"n", Int64}, {"name", String}}
	for _, path := range []string{"x.csv", "x.parquet"} {
		for _, disk := range []*fullDisk{{room: 0}, {room: 100}, {room: 300_000}, {room: 1 << 30, syncError: syscall.ENOSPC}} {
			w, err := create(path, schema, func(string) (file, error) { return disk, nil })
			if err != nil {
				t.Fatal(err)
			}
			var failed error
			for i := int64(0); i < 200_000 && failed == nil; i++ {
				failed = w.Append(Record{IntValue(i * i * i), StringValue("link")})
			}
			if closed := w.Close(); failed == nil {
				failed = closed
			} else if closed == nil {
				t.Errorf("%s: Close forgets the error of Append", path)
			}
			if !errors.Is(failed, syscall.ENOSPC) {
				t.Errorf("%s: %v", path, failed)
			}
			if disk.published || !disk.discarded {
				t.Errorf("%s: published %v, discarded %v", path, disk.published, disk.discarded)
			}
		}
	}
}

// TestTheKernelsFullDisk writes to the device that is always full.
func TestTheKernelsFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	w, err := create("x.csv", Schema{{"n", Int64}}, func(string) (file, error) { return device{full}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v", err)
	}
}

// device is a file that is not removed.
type device struct{ *os.File }

func (d device) publish(string) error { return nil }
func (d device) discard()             { _ = d.Close() }
