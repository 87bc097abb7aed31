//go:build !linux

package statfile

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"unsafe"
)

var errSystem = fmt.Errorf("statistics for other processes need Linux: %w", errors.ErrUnsupported)

// File does not exist on this system.
type File struct{}

// Create fails.
func Create([]string, int, reflect.Type, reflect.Type) (*File, error) { return nil, errSystem }

// Path is empty.
func (f *File) Path() string { return "" }

// Context does not exist.
func (f *File) Context() unsafe.Pointer { return nil }

// Channel fails.
func (f *File) Channel(int) (unsafe.Pointer, error) { return nil, errSystem }

// Publish does nothing.
func Publish(unsafe.Pointer) {}

// Withdraw does nothing.
func Withdraw(unsafe.Pointer) {}

// Close does nothing.
func (f *File) Close() {}

// Read fails.
func Read(string) (*Snapshot, error) { return nil, errSystem }

// List tells that there is nothing.
func List() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) { yield("", errSystem) }
}

// MakeDir fails.
func MakeDir(string) error { return errSystem }

// OwnedDir fails.
func OwnedDir(string) error { return errSystem }

func isOurs(string) bool { return false }
