package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unique"
)

// The columns of a trace.
const (
	columnSrc      = "src"
	columnDst      = "dst"
	columnStart    = "start_us"
	columnBytes    = "bytes"
	columnClass    = "class"
	columnPriority = "priority"
)

// traceColumns are all columns; the first four must be there.
var traceColumns = []string{columnSrc, columnDst, columnStart, columnBytes, columnClass, columnPriority}

// requiredColumns is the number of columns that a trace cannot do without.
const requiredColumns = 4

// ParseTrace reads a trace in the form that Trace describes. What is wrong with
// it is a *TraceError; a failure of the reader itself is passed on. A trace
// without a single flow is wrong, because a simulation of it would show nothing.
func ParseTrace(from io.Reader) (*Trace, error) {
	file := csv.NewReader(from)
	file.Comment = '#'
	file.TrimLeadingSpace = true
	file.ReuseRecord = true
	header, err := file.Read()
	if errors.Is(err, io.EOF) {
		return nil, &TraceError{Line: 1, Got: "an empty file", Want: "a header such as src,dst,start_us,bytes"}
	}
	if err != nil {
		return nil, readFault(err, 0)
	}
	headerLine, _ := file.FieldPos(0)
	columns, err := parseHeader(header, headerLine)
	if err != nil {
		return nil, err
	}
	t := &Trace{}
	for {
		fields, err := file.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, readFault(err, len(columns))
		}
		line, _ := file.FieldPos(0)
		if len(t.records) == MaxFlows {
			return nil, &TraceError{Line: line, Got: "one more flow", Want: "at most " + strconv.Itoa(MaxFlows) + " flows"}
		}
		record, err := parseRecord(columns, fields, line)
		if err != nil {
			return nil, err
		}
		t.records = append(t.records, record)
	}
	if len(t.records) == 0 {
		return nil, &TraceError{Line: headerLine, Got: "nothing after the header", Want: "at least one flow"}
	}
	return t, nil
}

// readFault turns what encoding/csv has to complain of into a TraceError.
func readFault(err error, columns int) error {
	var fault *csv.ParseError
	if !errors.As(err, &fault) {
		return fmt.Errorf("workload: reading the trace: %w", err)
	}
	if errors.Is(fault, csv.ErrFieldCount) {
		return &TraceError{
			Line: fault.Line, Got: "another number of fields",
			Want: strconv.Itoa(columns) + " fields, as in the header",
		}
	}
	return &TraceError{Line: fault.Line, Got: fault.Err.Error(), Want: "comma-separated values"}
}

// parseHeader returns the columns in the order of the file.
func parseHeader(header []string, line int) ([]string, error) {
	columns := make([]string, len(header))
	for i, name := range header {
		// Spreadsheets put a byte order mark before the first name.
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(traceColumns, name) {
			return nil, &TraceError{
				Line: line, Got: "column " + strconv.Quote(name),
				Want: "one of " + strings.Join(traceColumns, ", "),
			}
		}
		if slices.Contains(columns[:i], name) {
			return nil, &TraceError{Line: line, Field: name, Got: "a second such column", Want: "each column once"}
		}
		columns[i] = name
	}
	for _, name := range traceColumns[:requiredColumns] {
		if !slices.Contains(columns, name) {
			return nil, &TraceError{Line: line, Field: name, Got: "no such column", Want: "it in the header"}
		}
	}
	return columns, nil
}

func parseRecord(columns, fields []string, line int) (traceRecord, error) {
	record := traceRecord{line: line}
	for i, name := range columns {
		text := strings.TrimSpace(fields[i])
		if want := record.set(name, text); want != "" {
			return traceRecord{}, &TraceError{Line: line, Field: name, Got: strconv.Quote(text), Want: want}
		}
	}
	if record.src == record.dst {
		return traceRecord{}, &TraceError{
			Line: line, Field: columnDst, Got: strconv.Itoa(record.dst),
			Want: "another host than " + columnSrc,
		}
	}
	return record, nil
}

// set stores one field and says what was expected if the text is not that.
func (record *traceRecord) set(name, text string) (want string) {
	ok := true
	switch name {
	case columnSrc:
		record.src, ok = parseBelow(text, MaxHosts)
		want = "a host number below " + strconv.Itoa(MaxHosts)
	case columnDst:
		record.dst, ok = parseBelow(text, MaxHosts)
		want = "a host number below " + strconv.Itoa(MaxHosts)
	case columnStart:
		record.start, ok = parseMicroseconds(text)
		want = "microseconds such as 12.5, up to " + strconv.FormatInt(MaxTime/Microsecond, 10)
	case columnBytes:
		size, err := strconv.ParseUint(text, 10, 63)
		record.bytes, ok = int64(size), err == nil && size <= MaxBytes
		want = "a number of bytes up to " + strconv.FormatInt(MaxBytes, 10)
	case columnClass:
		// A trace has few classes and many lines. Without interning, each field
		// would hold its whole line in memory.
		record.class = unique.Make(text).Value()
	case columnPriority:
		if text != "" {
			record.priority, ok = parseBelow(text, Priorities)
			record.hasPriority = true
			want = "a priority of 0 to " + strconv.Itoa(Priorities-1)
		}
	}
	if ok {
		return ""
	}
	return want
}

// parseBelow reads a whole number of 0 to limit-1.
func parseBelow(text string, limit uint64) (int, bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && n < limit
}

// microsecondDecimals is how many decimals a microsecond has in picoseconds.
const microsecondDecimals = 6

// parseMicroseconds reads a decimal number of microseconds as picoseconds. It
// does without floating point, so that every picosecond is kept.
func parseMicroseconds(text string) (int64, bool) {
	whole, decimals, hasPoint := strings.Cut(text, ".")
	if len(decimals) > microsecondDecimals || hasPoint && decimals == "" {
		return 0, false
	}
	decimals += strings.Repeat("0", microsecondDecimals-len(decimals))
	micros, wholeErr := strconv.ParseUint(whole, 10, 63)
	picos, decimalsErr := strconv.ParseUint(decimals, 10, 63)
	if wholeErr != nil || decimalsErr != nil || micros > uint64(MaxTime/Microsecond) {
		return 0, false
	}
	start := int64(micros)*Microsecond + int64(picos)
	return start, start <= MaxTime
}
