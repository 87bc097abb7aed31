package statfile

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// extentBytes is how much the file grows by when there are more channels: whole pages, and a power of two.
var extentBytes = max(16<<10, os.Getpagesize())

// File is published by this process. One goroutine at a time uses it.
type File struct {
	file    *os.File
	path    string
	layout  layout
	header  []byte   // mapped, with the record of the context
	extents [][]byte // mapped, with the records of channels
}

// Create publishes a file in the first directory where that is possible. The records are structs such as FieldsOf describes;
// that of a channel begins with its generation, a uint64.
func Create(dirs []string, number int, context, channel reflect.Type) (*File, error) {
	var wrong error
	for _, dir := range dirs {
		f, err := create(dir, number, context, channel)
		if err == nil {
			return f, nil
		}
		wrong = errors.Join(wrong, err)
	}
	return nil, wrong
}

func create(dir string, number int, context, channel reflect.Type) (*File, error) {
	if err := MakeDir(dir); err != nil {
		return nil, err
	}
	removeStale(dir)
	// It gets its name when it is locked and complete: nobody sees it before.
	file, err := os.CreateTemp(dir, unfinished)
	if err != nil {
		return nil, err
	}
	f := &File{file: file, path: file.Name()}
	if err := f.prepare(dir, number, context, channel); err != nil {
		f.Close()
		return nil, fmt.Errorf("publish statistics in %s: %w", dir, err)
	}
	return f, nil
}

// MakeDir makes a directory for files that only this user reads, unless it is there. One that others could have made or
// can write is refused, and one that is not in memory.
func MakeDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkDir(dir)
}

// OwnedDir says whether a directory is this user's alone. An error that is fs.ErrNotExist says that there is none.
func OwnedDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	return checkOwner(dir, info)
}

func (f *File) prepare(dir string, number int, context, channel reflect.Type) error {
	if err := unix.Flock(int(f.file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	l := &f.layout
	l.context, l.contextLength = FieldsOf(context), int(context.Size())
	// A power of two, so that each record lies within an extent.
	l.channel, l.channelLength = FieldsOf(channel), max(minChannel, 1<<bits.Len(uint(channel.Size()-1)))
	l.contextOffset = (len(l.appendHeader(nil)) + 127) &^ 63 // the numbers in it may get longer
	page := os.Getpagesize()
	l.channelOffset = (l.contextOffset + l.contextLength + page - 1) &^ (page - 1)
	header, err := f.extend(0, l.channelOffset)
	if err != nil {
		return err
	}
	f.header = header
	copy(header, l.appendHeader(nil))
	_, unique, _ := strings.Cut(filepath.Base(f.path), "-")
	path := filepath.Join(dir, prefix+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(number)+"-"+unique)
	if err := os.Rename(f.path, path); err != nil {
		return err
	}
	f.path = path
	return nil
}

// extend writes zeros to the file and maps them: what is mapped has its memory, so that no store to it can fail.
func (f *File) extend(offset, length int) ([]byte, error) {
	if _, err := f.file.WriteAt(make([]byte, length), int64(offset)); err != nil {
		return nil, err
	}
	return unix.Mmap(int(f.file.Fd()), int64(offset), length, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// Path is the name of the file.
func (f *File) Path() string { return f.path }

// Context is the record of the context.
func (f *File) Context() unsafe.Pointer { return unsafe.Pointer(&f.header[f.layout.contextOffset]) }

// Channel begins the record of a channel, which nobody sees before Publish.
func (f *File) Channel(number int) (unsafe.Pointer, error) {
	at := number * f.layout.channelLength
	for len(f.extents)*extentBytes < at+f.layout.channelLength {
		extent, err := f.extend(f.layout.channelOffset+len(f.extents)*extentBytes, extentBytes)
		if err != nil {
			return nil, err
		}
		f.extents = append(f.extents, extent)
	}
	record := f.extents[at/extentBytes][at%extentBytes:][:f.layout.channelLength]
	clear(record[8:])
	return unsafe.Pointer(&record[0]), nil
}

// Publish makes the record of a channel visible, and Withdraw ends it.
func Publish(record unsafe.Pointer) { atomic.AddUint64((*uint64)(record), 1) }

// Withdraw ends the record of a channel.
func Withdraw(record unsafe.Pointer) { atomic.AddUint64((*uint64)(record), 1) }

// Close removes the file. No record is used any more.
func (f *File) Close() {
	_ = os.Remove(f.path) // somebody else may have
	for _, extent := range append(f.extents, f.header) {
		if extent != nil {
			_ = unix.Munmap(extent)
		}
	}
	f.extents, f.header = nil, nil
	f.file.Close()
}

// checkDir refuses a directory that others could have made or can write, and one that is not in memory: a store to a file on
// a disk may have to wait for it.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if err := checkOwner(dir, info); err != nil {
		return err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if s.Type != unix.TMPFS_MAGIC && s.Type != unix.RAMFS_MAGIC {
		return fmt.Errorf("%s is not in memory (tmpfs)", dir)
	}
	return nil
}

func isOurs(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && checkOwner(dir, info) == nil
}

func checkOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: %w: it belongs to another user", path, fs.ErrPermission)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: %w: others have rights on it (mode %v)", path, fs.ErrPermission, info.Mode().Perm())
	}
	return nil
}

// removeStale removes what dead processes have left, also one that had the number of this one, as in a container that is started again.
func removeStale(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) && !abandoned(e) {
			continue
		}
		if f, err := open(filepath.Join(dir, e.Name())); err == nil {
			if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
				_ = os.Remove(f.Name()) // another process may have
			}
			f.Close()
		}
	}
}

// abandoned says whether a process has ended while it made a file: making one takes no minute.
func abandoned(e fs.DirEntry) bool {
	info, err := e.Info()
	return err == nil && strings.HasPrefix(e.Name(), unfinished) && time.Since(info.ModTime()) > time.Minute
}

// open opens a file of this user.
func open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, ErrCorrupt)
	}
	if err == nil {
		err = checkOwner(path, info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a file of this user.
func Read(path string) (*Snapshot, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	s, err := read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s.Alive = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
	return s, nil
}

// List yields the files of this user's processes.
func List() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, dir := range ReadDirs() {
			info, err := os.Lstat(dir)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				continue // nobody publishes there
			}
			if err == nil {
				err = checkOwner(dir, info)
			}
			var entries []os.DirEntry
			if err == nil {
				entries, err = os.ReadDir(dir)
			}
			if err != nil && !yield(dir, err) {
				return
			}
			for _, e := range entries {
				if strings.HasPrefix(e.Name(), prefix) && !yield(filepath.Join(dir, e.Name()), nil) {
					return
				}
			}
		}
	}
}
