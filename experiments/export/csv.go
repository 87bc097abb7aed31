package export

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvEncoder writes records as RFC 4180 has them, with a line of names first and
// lines that end in a bare newline.
type csvEncoder struct {
	out    io.Writer
	line   []byte // reused
	single bool   // there is only one column
}

func newCSVEncoder(out io.Writer, schema Schema) (*csvEncoder, error) {
	e := &csvEncoder{out: out, single: len(schema) == 1}
	for i, column := range schema {
		if i > 0 {
			e.line = append(e.line, ',')
		}
		e.line = append(e.line, column.Name...)
	}
	return e, e.flushLine()
}

func (e *csvEncoder) encode(r Record) error {
	for i, v := range r {
		if i > 0 {
			e.line = append(e.line, ',')
		}
		if v.kind == String {
			e.line = appendText(e.line, v.text, e.single)
		} else {
			e.line = v.append(e.line)
		}
	}
	return e.flushLine()
}

func (e *csvEncoder) finish() error { return nil }

func (e *csvEncoder) flushLine() error {
	e.line = append(e.line, '\n')
	_, err := e.out.Write(e.line)
	e.line = e.line[:0]
	return err
}

// appendText writes text, in quotes if a reader could misunderstand it without.
// An empty line means no record to most readers, so the empty text of a single
// column needs quotes too.
func appendText(b []byte, text string, single bool) []byte {
	quoted := strings.ContainsAny(text, ",\"\r\n") || strings.HasPrefix(text, " ") || single && text == ""
	if !quoted {
		return append(b, text...)
	}
	b = append(b, '"')
	b = append(b, strings.ReplaceAll(text, `"`, `""`)...)
	return append(b, '"')
}

// readCSV reads a whole file. Line ends inside text come back as bare newlines,
// as encoding/csv has it.
func readCSV(in io.Reader, schema Schema) ([]Record, error) {
	reader := csv.NewReader(in)
	reader.FieldsPerRecord = len(schema)
	reader.ReuseRecord = true
	names, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("line of names: %w: %w", ErrSchema, err)
	}
	for i, column := range schema {
		if names[i] != column.Name {
			return nil, fmt.Errorf("column %d is called %q, not %q: %w", i, names[i], column.Name, ErrSchema)
		}
	}
	var records []Record
	for {
		fields, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrValue, err)
		}
		record := make(Record, len(fields))
		for i, field := range fields {
			if record[i], err = parseValue(schema[i].Kind, strings.Clone(field)); err != nil {
				line, _ := reader.FieldPos(i)
				return nil, fmt.Errorf("line %d, column %q: %w: %w", line, schema[i].Name, ErrValue, err)
			}
		}
		records = append(records, record)
	}
}
