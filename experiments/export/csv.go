package export

import (
	"encoding/csv"
	"io"

	"github.com/parquet-go/parquet-go"
)

// csvEncoder writes rows with the columns that they have in Parquet, a line of names first.
type csvEncoder[T any] struct {
	out    *csv.Writer
	schema *parquet.Schema
	row    parquet.Row // reused
	fields []string    // reused
}

func newCSVEncoder[T any](out io.Writer) (*csvEncoder[T], error) {
	e := &csvEncoder[T]{out: csv.NewWriter(out), schema: parquet.SchemaOf(new(T))}
	for _, column := range e.schema.Columns() {
		e.fields = append(e.fields, column[0])
	}
	return e, e.out.Write(e.fields)
}

func (e *csvEncoder[T]) Write(rows []T) (int, error) {
	for n := range rows {
		e.row = e.schema.Deconstruct(e.row[:0], &rows[n])
		for i, value := range e.row {
			e.fields[i] = value.String()
		}
		if err := e.out.Write(e.fields); err != nil {
			return n, err
		}
	}
	return len(rows), nil
}

func (e *csvEncoder[T]) Close() error {
	e.out.Flush()
	return e.out.Error()
}
