package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
)

// ErrFormat means that the ending of a path is neither .csv nor .parquet.
var ErrFormat = errors.New("unknown format")

// Write writes rows to files, each as CSV or Parquet by the ending of its path.
// Unless every one of them is safe on the disk, none appears.
func Write[T any](rows iter.Seq[T], paths ...string) error {
	return write(rows, createTemporary, paths)
}

// rowsPerBatch is how many rows are handed to the encoders at a time.
const rowsPerBatch = 256

func write[T any](rows iter.Seq[T], create func(path string) (file, error), paths []string) (err error) {
	var targets targets[T]
	defer func() {
		if err != nil {
			targets.discard()
		}
	}()
	for _, path := range paths {
		if err := targets.add(path, create); err != nil {
			return err
		}
	}
	batch := make([]T, 0, rowsPerBatch)
	for row := range rows {
		if batch = append(batch, row); len(batch) == cap(batch) {
			if err := targets.write(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if err := targets.write(batch); err != nil {
		return err
	}
	return targets.publish()
}

// An encoder turns rows into bytes. Close writes what comes after the last.
type encoder[T any] interface {
	Write(rows []T) (int, error)
	Close() error
}

// rowsPerGroup bounds what the encoder of Parquet holds in memory; readers skip
// whole groups by their statistics.
const rowsPerGroup = 64 << 10

func newEncoder[T any](path string, out io.Writer) (encoder[T], error) {
	switch filepath.Ext(path) {
	case ".csv":
		return newCSVEncoder[T](out)
	case ".parquet":
		return parquet.NewGenericWriter[T](out,
			parquet.NewSchema("record", parquet.SchemaOf(new(T))),
			parquet.Compression(&parquet.Gzip),
			parquet.MaxRowsPerRowGroup(rowsPerGroup),
			// The library would name its own version and build here.
			parquet.CreatedBy("braid", "1", "0"),
		), nil
	default:
		return nil, ErrFormat
	}
}

// A target is a file that is being written, under a temporary name.
type target[T any] struct {
	path    string
	file    file
	buffer  *bufio.Writer
	encoder encoder[T]
}

// bufferSize makes writes large enough for any disk.
const bufferSize = 256 << 10

type targets[T any] []*target[T]

func (all *targets[T]) add(path string, create func(path string) (file, error)) error {
	f, err := create(path)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t := &target[T]{path: path, file: f, buffer: bufio.NewWriterSize(f, bufferSize)}
	*all = append(*all, t)
	if t.encoder, err = newEncoder[T](path, t.buffer); err != nil {
		return fmt.Errorf("export: %s: %w", path, err)
	}
	return nil
}

func (all targets[T]) write(rows []T) error {
	for _, t := range all {
		if _, err := t.encoder.Write(rows); err != nil {
			return fmt.Errorf("export: %s: %w", t.path, err)
		}
	}
	return nil
}

// publish brings every byte to the disk, and then gives the files their names.
func (all targets[T]) publish() error {
	for _, t := range all {
		for _, step := range []func() error{t.encoder.Close, t.buffer.Flush, t.file.Sync, t.file.Close} {
			if err := step(); err != nil {
				return fmt.Errorf("export: %s: %w", t.path, err)
			}
		}
	}
	for _, t := range all {
		if err := t.file.publish(t.path); err != nil {
			return fmt.Errorf("export: %s: %w", t.path, err)
		}
	}
	return nil
}

func (all targets[T]) discard() {
	for _, t := range all {
		t.file.discard()
	}
}
