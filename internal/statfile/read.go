package statfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"reflect"
	"strings"
	"unicode"
)

// Snapshot is what a file said when it was read.
type Snapshot struct {
	Alive    bool // the process that writes it exists
	Context  Record
	Channels []Channel
}

// Channel is the record of a channel.
type Channel struct {
	Number     int
	Generation uint64 // another channel of the same number has another
	Record
}

// Record has the fields of a context or channel.
type Record struct {
	fields []Field
	data   []byte
}

// tries is how often a record is read that changes hands meanwhile, which takes longer than reading it.
const tries = 8

// read reads a file of some size.
func read(f io.ReaderAt, size int64) (*Snapshot, error) {
	if size > maxFile {
		return nil, fmt.Errorf("%w: %d bytes", ErrCorrupt, size)
	}
	var l layout
	tableOffset, tableLength, err := l.parseHeader(readPart(f, 0, headerBytes), size)
	if err != nil {
		return nil, err
	}
	if err := l.parseTable(string(readPart(f, int64(tableOffset), tableLength))); err != nil {
		return nil, err
	}
	s := &Snapshot{Context: Record{l.context, readPart(f, int64(l.contextOffset), l.contextLength)}}
	if len(s.Context.data) < l.contextLength {
		return nil, fmt.Errorf("%w: it has become shorter", ErrCorrupt)
	}
	for number, at := 0, int64(l.channelOffset); at+int64(l.channelLength) <= size; number, at = number+1, at+int64(l.channelLength) {
		if c, ok := readChannel(f, at, &l); ok {
			c.Number = number
			s.Channels = append(s.Channels, c)
		}
	}
	return s, nil
}

// readChannel reads a record that belongs to a channel before and after.
func readChannel(f io.ReaderAt, at int64, l *layout) (c Channel, ok bool) {
	for range tries {
		generation := readPart(f, at, 8)
		if len(generation) < 8 || binary.NativeEndian.Uint64(generation)%2 == 0 {
			return Channel{}, false
		}
		data := readPart(f, at, l.channelLength)
		if len(data) == l.channelLength && bytes.Equal(generation, readPart(f, at, 8)) {
			return Channel{Generation: binary.NativeEndian.Uint64(generation), Record: Record{l.channel, data}}, true
		}
	}
	return Channel{}, false
}

// readPart reads bytes, or fewer where the file ends.
func readPart(f io.ReaderAt, at int64, length int) []byte {
	b := make([]byte, length)
	n, _ := f.ReadAt(b, at)
	return b[:n]
}

// Into stores the fields of the record in a struct such as FieldsOf describes. It returns the numbers that the struct has no
// field for.
func (r Record) Into(record any) (others map[string]uint64) {
	v := reflect.ValueOf(record).Elem()
	known := map[string]reflect.Value{}
	for _, f := range visible(v.Type()) {
		known[snakeCase(f.Name)] = v.FieldByIndex(f.Index)
	}
	for _, f := range r.fields {
		part := r.data[f.Offset : f.Offset+f.Length]
		switch to, ok := known[f.Name]; {
		case !ok && f.Kind != Text:
			if others == nil {
				others = map[string]uint64{}
			}
			others[f.Name] = number(part)
		case !ok:
		case f.Kind == Text && to.Kind() == reflect.Array:
			reflect.Copy(to, reflect.ValueOf(part))
		case f.Kind == Text:
		case to.Kind() == reflect.Bool:
			to.SetBool(number(part) != 0)
		case to.CanUint():
			to.SetUint(number(part))
		case to.CanInt():
			to.SetInt(int64(number(part)))
		}
	}
	return others
}

// Numbers yields the numbers of a struct such as FieldsOf describes, by name, always in the same order.
func Numbers(record any) iter.Seq2[string, int64] {
	v := reflect.ValueOf(record).Elem()
	return func(yield func(string, int64) bool) {
		for _, f := range visible(v.Type()) {
			value, n := v.FieldByIndex(f.Index), int64(0)
			switch {
			case value.Kind() == reflect.Bool:
				if value.Bool() {
					n = 1
				}
			case value.CanUint():
				n = int64(value.Uint())
			case value.CanInt():
				n = value.Int()
			default:
				continue
			}
			if !yield(snakeCase(f.Name), n) {
				return
			}
		}
	}
}

// number is what bytes in the order of the host mean.
func number(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// String is a text field, without the control characters that a terminal would obey which shows it.
func String(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, string(text))
}
