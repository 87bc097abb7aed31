package export

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

const (
	// rowsPerGroup bounds what the encoder holds in memory; readers skip whole
	// groups by their statistics.
	rowsPerGroup = 64 << 10
	// rowsPerBatch is how many records are handed to the library at a time.
	rowsPerBatch = 256
)

// parquetSchema translates a schema. The library keeps the order of columns only
// for the fields of a struct, so such a struct type is made here.
func parquetSchema(schema Schema) *parquet.Schema {
	fields := make([]reflect.StructField, len(schema))
	for i, column := range schema {
		field := reflect.StructField{Name: "C" + strconv.Itoa(i)}
		tag := column.Name
		switch column.Kind {
		case Int64:
			field.Type = reflect.TypeFor[int64]()
			tag += ",delta" // times, sizes and numbers that grow pack well
		case Float64:
			field.Type = reflect.TypeFor[float64]()
		case Bool:
			field.Type = reflect.TypeFor[bool]()
		default:
			field.Type = reflect.TypeFor[string]()
			tag += ",dict" // names of links, flows and policies repeat
		}
		field.Tag = reflect.StructTag(`parquet:"` + tag + `"`)
		fields[i] = field
	}
	return parquet.NewSchema("record", parquet.SchemaOf(reflect.New(reflect.StructOf(fields)).Interface()))
}

// parquetEncoder writes records as Parquet.
type parquetEncoder struct {
	out   *parquet.GenericWriter[any]
	batch []parquet.Row
}

func newParquetEncoder(out io.Writer, schema Schema) *parquetEncoder {
	return &parquetEncoder{
		out: parquet.NewGenericWriter[any](out, parquetSchema(schema),
			parquet.Compression(&parquet.Gzip),
			parquet.MaxRowsPerRowGroup(rowsPerGroup),
			// The library would name its own version and build here.
			parquet.CreatedBy("braid", "1", "0"),
		),
		batch: make([]parquet.Row, 0, rowsPerBatch),
	}
}

func (e *parquetEncoder) encode(r Record) error {
	if len(e.batch) == cap(e.batch) {
		if err := e.flush(); err != nil {
			return err
		}
	}
	e.batch = e.batch[:len(e.batch)+1]
	row := e.batch[len(e.batch)-1][:0] // reuses the row of an earlier batch
	for i, v := range r {
		row = append(row, parquetValue(v).Level(0, 0, i))
	}
	e.batch[len(e.batch)-1] = row
	return nil
}

func (e *parquetEncoder) flush() error {
	_, err := e.out.WriteRows(e.batch)
	e.batch = e.batch[:0]
	return err
}

func (e *parquetEncoder) finish() error {
	if err := e.flush(); err != nil {
		return err
	}
	return e.out.Close()
}

func parquetValue(v Value) parquet.Value {
	switch v.kind {
	case Int64:
		return parquet.Int64Value(v.Int())
	case Float64:
		return parquet.DoubleValue(v.Float())
	case Bool:
		return parquet.BooleanValue(v.Bool())
	default:
		return parquet.ValueOf(v.text)
	}
}

// readParquet reads a whole file.
func readParquet(in io.ReaderAt, size int64, schema Schema) (records []Record, err error) {
	file, err := parquet.OpenFile(in, size)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrValue, err)
	}
	if err := sameColumns(file.Schema(), schema); err != nil {
		return nil, err
	}
	rows := make([]parquet.Row, rowsPerBatch)
	for _, group := range file.RowGroups() {
		reader := group.Rows()
		for {
			n, err := reader.ReadRows(rows)
			for _, row := range rows[:n] {
				records = append(records, recordOf(row, schema))
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				_ = reader.Close() // the read has failed already
				return nil, fmt.Errorf("%w: %w", ErrValue, err)
			}
		}
		if err := reader.Close(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrValue, err)
		}
	}
	return records, nil
}

// sameColumns tells whether a file has the names and kinds of the schema.
func sameColumns(found *parquet.Schema, schema Schema) error {
	fields := found.Fields()
	if len(fields) != len(schema) {
		return fmt.Errorf("%d columns, not %d: %w", len(fields), len(schema), ErrSchema)
	}
	kinds := map[Kind]parquet.Kind{Int64: parquet.Int64, Float64: parquet.Double, Bool: parquet.Boolean, String: parquet.ByteArray}
	for i, column := range schema {
		field := fields[i]
		if field.Name() != column.Name || !field.Leaf() || !field.Required() || field.Type().Kind() != kinds[column.Kind] {
			return fmt.Errorf("column %d is %v, not %q of %v: %w", i, field, column.Name, column.Kind, ErrSchema)
		}
	}
	return nil
}

// recordOf copies a row, whose memory belongs to the reader.
func recordOf(row parquet.Row, schema Schema) Record {
	record := make(Record, len(schema))
	for i, v := range row {
		switch schema[i].Kind {
		case Int64:
			record[i] = IntValue(v.Int64())
		case Float64:
			record[i] = FloatValue(v.Double())
		case Bool:
			record[i] = BoolValue(v.Boolean())
		default:
			record[i] = StringValue(string(v.ByteArray()))
		}
	}
	return record
}
