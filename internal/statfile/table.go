// Package statfile keeps numbers of a running program in a file that other processes of the same user
// read while they change, without a system call or a lock where they change.
//
//	Create ── File ── Context, Channel: records in shared memory, written by plain stores
//	                                │
//	List ── Read ── Snapshot <── the file, by pread
//
// The file describes itself: after a header of fixed form comes a table with the name, kind and place of each field, so that a
// reader of another version finds those that it knows, and can show the rest by name. Numbers have one to eight
// bytes, aligned and in the order of the host, so that each is seen whole; two of them may be from different moments.
//
//	bytes        field
//	0-7          "braid.st"
//	8-11         version
//	12-15        0x01020304, in the order of the host
//	16-19 20-23  offset and length of the table
//	24-27 28-31  offset and length of the record of the context
//	32-35 36-39  offset of the first record of a channel, and length of each
//
// A line of the table is the record (context or channel), the name of the field, its kind, offset and length.
// The records of channels go on to the end of the file. Each begins with its generation, which is odd while a channel has it
// and counts up each time that changes.
//
// The process that writes a file holds a lock on it (flock), which ends with the process however it ends: a
// file that nobody holds is what a dead process has left.
package statfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ErrCorrupt is a file that is not one of these, or is damaged.
var ErrCorrupt = errors.New("not a file of statistics")

// Kind says what a field is.
type Kind string

// Kinds of fields.
const (
	Counter  Kind = "counter"  // only grows
	Gauge    Kind = "gauge"    // is as it is now
	Duration Kind = "duration" // nanoseconds
	Time     Kind = "time"     // nanoseconds since 1970
	Text     Kind = "text"     // padded with zeros
)

// Field is a part of a record.
type Field struct {
	Name           string
	Kind           Kind
	Offset, Length int
}

const (
	magic       = "braid.st"
	version     = 1
	orderMark   = 0x01020304
	headerBytes = 40
	maxTable    = 64 << 10 // a few hundred fields
	maxRecord   = 64 << 10
	minChannel  = 64
	maxFile     = 256 << 20 // half a million channels
)

// FieldsOf lists the fields of a record, which is a struct of numbers, truth values and arrays of bytes. Its fields are
// named in lower case with underscores; the tag stat has the kind where it is not a counter, or "-". What has a pointer
// cannot be in a record.
func FieldsOf(record reflect.Type) (fields []Field) {
	for _, f := range visible(record) {
		kind := Kind(f.Tag.Get("stat"))
		if kind == "" {
			kind = Counter
		}
		offset := uintptr(0)
		for at, index := record, f.Index; len(index) > 0; index = index[1:] {
			inner := at.Field(index[0])
			offset, at = offset+inner.Offset, inner.Type
		}
		fields = append(fields, Field{snakeCase(f.Name), kind, int(offset), int(f.Type.Size())})
	}
	return fields
}

// visible are the fields of a struct, and of those within it, that are published.
func visible(record reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(record), func(f reflect.StructField) bool {
		return f.Anonymous || !f.IsExported() || f.Tag.Get("stat") == "-"
	})
}

func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		if upper && i > 0 && name[i-1] >= 'a' {
			b.WriteByte('_')
		}
		if upper {
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isNumber says whether a number can have a length.
func isNumber(length int) bool { return length == 1 || length == 2 || length == 4 || length == 8 }

// layout is where things are in a file.
type layout struct {
	context, channel             []Field
	contextOffset, contextLength int
	channelOffset, channelLength int
}

// appendHeader writes the header and the table.
func (l *layout) appendHeader(b []byte) []byte {
	var table []byte
	for _, part := range []struct {
		name   string
		fields []Field
	}{{"context", l.context}, {"channel", l.channel}} {
		for _, f := range part.fields {
			table = fmt.Appendf(table, "%s %s %s %d %d\n", part.name, f.Name, f.Kind, f.Offset, f.Length)
		}
	}
	b = append(b, magic...)
	for _, n := range []int{
		version, orderMark, headerBytes, len(table), l.contextOffset, l.contextLength, l.channelOffset, l.channelLength,
	} {
		b = binary.NativeEndian.AppendUint32(b, uint32(n))
	}
	return append(b, table...)
}

// parseHeader reads the header; the table is elsewhere.
func (l *layout) parseHeader(b []byte, size int64) (tableOffset, tableLength int, err error) {
	if len(b) < headerBytes || string(b[:len(magic)]) != magic {
		return 0, 0, ErrCorrupt
	}
	var n [8]int
	for i := range n {
		n[i] = int(binary.NativeEndian.Uint32(b[len(magic)+4*i:]))
	}
	if n[0] != version || n[1] != orderMark {
		return 0, 0, fmt.Errorf("%w: version %d, this program reads version %d", ErrCorrupt, n[0], version)
	}
	tableOffset, tableLength = n[2], n[3]
	l.contextOffset, l.contextLength, l.channelOffset, l.channelLength = n[4], n[5], n[6], n[7]
	for _, part := range [][3]int{
		{tableOffset, tableLength, maxTable}, {l.contextOffset, l.contextLength, maxRecord}, {l.channelOffset, 0, 0},
	} {
		if part[1] > part[2] || int64(part[0])+int64(part[1]) > size {
			return 0, 0, fmt.Errorf("%w: %d bytes at %d of %d", ErrCorrupt, part[1], part[0], size)
		}
	}
	if l.channelLength < minChannel || l.channelLength > maxRecord {
		return 0, 0, fmt.Errorf("%w: records of %d bytes", ErrCorrupt, l.channelLength)
	}
	return tableOffset, tableLength, nil
}

// parseTable reads the fields. Records and kinds that it does not know are those of a later version.
func (l *layout) parseTable(table string) error {
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		if len(words) < 5 {
			return fmt.Errorf("%w: field %q", ErrCorrupt, line)
		}
		f := Field{Name: words[1], Kind: Kind(words[2])}
		offset, err := strconv.ParseUint(words[3], 10, 31)
		length, err2 := strconv.ParseUint(words[4], 10, 31)
		f.Offset, f.Length = int(offset), int(length)
		if err = errors.Join(err, err2); err != nil {
			return fmt.Errorf("%w: field %q", ErrCorrupt, line)
		}
		var fields *[]Field
		var within int
		switch words[0] {
		case "context":
			fields, within = &l.context, l.contextLength
		case "channel":
			fields, within = &l.channel, l.channelLength
		default:
			continue
		}
		if f.Length > within || f.Offset > within-f.Length || f.Kind != Text && !isNumber(f.Length) {
			return fmt.Errorf("%w: field %q of a record of %d bytes", ErrCorrupt, f.Name, within)
		}
		*fields = append(*fields, f)
	}
	return nil
}
