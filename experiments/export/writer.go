package export

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
)

// An encoder turns records into bytes.
type encoder interface {
	encode(Record) error
	// finish writes what comes after the last record.
	finish() error
}

func newEncoder(path string, out io.Writer, schema Schema) (encoder, error) {
	switch filepath.Ext(path) {
	case ".csv":
		return newCSVEncoder(out, schema)
	case ".parquet":
		return newParquetEncoder(out, schema), nil
	default:
		return nil, fmt.Errorf("path ends in %q: %w", filepath.Ext(path), ErrFormat)
	}
}

// A Writer writes records to a file. It is not safe for concurrent use.
type Writer struct {
	path    string
	schema  Schema
	file    file
	buffer  *bufio.Writer
	encoder encoder
	failed  error // the first error, or ErrClosed
}

// Create starts a file of records with the given columns, as CSV or Parquet by
// the ending of the path. The caller must call Close, which makes the file appear,
// or Abort, which leaves no trace.
func Create(path string, schema Schema) (*Writer, error) {
	return create(path, schema, createTemporary)
}

// bufferSize makes writes large enough for any disk.
const bufferSize = 256 << 10

func create(path string, schema Schema, open func(path string) (file, error)) (*Writer, error) {
	if err := schema.check(); err != nil {
		return nil, fmt.Errorf("export: %s: %w", path, err)
	}
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	w := &Writer{path: path, schema: schema, file: f, buffer: bufio.NewWriterSize(f, bufferSize)}
	w.encoder, err = newEncoder(path, w.buffer, schema)
	if err != nil {
		return nil, w.fail(err)
	}
	return w, nil
}

// Append writes one record. The record may be reused afterwards.
func (w *Writer) Append(r Record) error {
	if w.failed != nil {
		return w.failed
	}
	if err := w.schema.accept(r); err != nil {
		return w.fail(err)
	}
	if err := w.encoder.encode(r); err != nil {
		return w.fail(err)
	}
	return nil
}

// Close writes what is left and puts the file in its place. After an error there
// is no new file, and the old one, if there was one, is unchanged.
func (w *Writer) Close() error {
	if err := w.seal(); err != nil {
		return err
	}
	return w.publish()
}

// seal brings every byte to the disk, under the temporary name.
func (w *Writer) seal() error {
	if w.failed != nil {
		return w.failed
	}
	for _, step := range []func() error{w.encoder.finish, w.buffer.Flush, w.file.Sync, w.file.Close} {
		if err := step(); err != nil {
			return w.fail(err)
		}
	}
	return nil
}

// publish gives a sealed file its name.
func (w *Writer) publish() error {
	if err := w.file.publish(w.path); err != nil {
		return w.fail(err)
	}
	w.failed = fmt.Errorf("export: %s: %w", w.path, ErrClosed)
	return nil
}

// Abort gives up and removes what was written. After Close it does nothing, so it
// can be deferred.
func (w *Writer) Abort() {
	if w.failed == nil {
		_ = w.fail(ErrClosed)
	}
}

// fail removes the temporary file and remembers the error.
func (w *Writer) fail(err error) error {
	w.failed = fmt.Errorf("export: %s: %w", w.path, err)
	w.file.discard()
	return w.failed
}
