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

type linkRow struct {
	N    int64  `parquet:"n,delta"`
	Name string `parquet:"name,dict"`
}

func TestAFullDiskIsReportedAndCleanedUp(t *testing.T) {
	rows := func(yield func(linkRow) bool) {
		for i := int64(0); i < 200_000 && yield(linkRow{i * i * i, "link"}); i++ {
		}
	}
	for _, path := range []string{"x.csv", "x.parquet"} {
		for _, disk := range []*fullDisk{{room: 0}, {room: 100}, {room: 300_000}, {room: 1 << 30, syncError: syscall.ENOSPC}} {
			err := write(rows, func(string) (file, error) { return disk, nil }, []string{path})
			if !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("%s: %v", path, err)
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
	none := func(func(linkRow) bool) {}
	if err := write(none, func(string) (file, error) { return device{full}, nil }, []string{"x.csv"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

// device is a file that is not removed.
type device struct{ *os.File }

func (d device) publish(string) error { return nil }
func (d device) discard()             { _ = d.Close() }
