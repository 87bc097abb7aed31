package export

import (
	"fmt"
	"math"
	"reflect"
)

// SchemaOf returns the columns of a struct type. Every exported field needs the
// tag col, which names its column; col:"-" leaves a field out. A field may be of
// any integer, floating-point, string or boolean type.
func SchemaOf[T any]() (Schema, error) {
	schema, _, err := columnsOf(reflect.TypeFor[T]())
	return schema, err
}

// columnsOf returns the columns of a struct type and the field behind each.
func columnsOf(t reflect.Type) (Schema, []int, error) {
	if t.Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("export: %v is not a struct: %w", t, ErrSchema)
	}
	var schema Schema
	var fields []int
	for i := range t.NumField() {
		field := t.Field(i)
		name, tagged := field.Tag.Lookup("col")
		switch {
		case name == "-", !field.IsExported() && !tagged:
			continue
		case !field.IsExported():
			return nil, nil, fmt.Errorf("export: field %s of %v has a column but is not exported: %w", field.Name, t, ErrSchema)
		case !tagged:
			return nil, nil, fmt.Errorf("export: field %s of %v has no tag col: %w", field.Name, t, ErrSchema)
		}
		kind := kindOf(field.Type)
		if kind == 0 {
			return nil, nil, fmt.Errorf("export: field %s of %v is of type %v: %w", field.Name, t, field.Type, ErrSchema)
		}
		schema = append(schema, Column{Name: name, Kind: kind})
		fields = append(fields, i)
	}
	if err := schema.check(); err != nil {
		return nil, nil, fmt.Errorf("export: %v: %w", t, err)
	}
	return schema, fields, nil
}

func kindOf(t reflect.Type) Kind {
	switch {
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64:
		return Int64
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return Float64
	case t.Kind() == reflect.String:
		return String
	case t.Kind() == reflect.Bool:
		return Bool
	default:
		return 0
	}
}

// A RowWriter writes structs to one or more files at once. It is not safe for
// concurrent use.
type RowWriter[T any] struct {
	writers []*Writer
	row     *T              // what fields look at
	fields  []reflect.Value // of row, one for each column
	record  Record          // reused
}

// CreateRows starts files of rows, each as CSV or Parquet by the ending of its
// path. The caller must call Close, which makes the files appear, or Abort, which
// leaves no trace.
func CreateRows[T any](paths ...string) (*RowWriter[T], error) {
	schema, indices, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("export: no path to write to: %w", ErrFormat)
	}
	w := &RowWriter[T]{row: new(T), record: make(Record, len(schema))}
	view := reflect.ValueOf(w.row).Elem()
	for _, i := range indices {
		w.fields = append(w.fields, view.Field(i))
	}
	for _, path := range paths {
		writer, err := Create(path, schema)
		if err != nil {
			w.Abort()
			return nil, err
		}
		w.writers = append(w.writers, writer)
	}
	return w, nil
}

// Append writes one row to every file. After an error none of the files will
// appear.
func (w *RowWriter[T]) Append(row T) error {
	*w.row = row
	for i, field := range w.fields {
		value, err := valueOf(field)
		if err != nil {
			w.Abort()
			return err
		}
		w.record[i] = value
	}
	for _, writer := range w.writers {
		if err := writer.Append(w.record); err != nil {
			w.Abort()
			return err
		}
	}
	return nil
}

// Close writes what is left and puts the files in their places. Unless every one
// of them is safe on the disk, none appears.
func (w *RowWriter[T]) Close() error {
	for _, writer := range w.writers {
		if err := writer.seal(); err != nil {
			w.Abort()
			return err
		}
	}
	for _, writer := range w.writers {
		if err := writer.publish(); err != nil {
			w.Abort()
			return err
		}
	}
	return nil
}

// Abort gives up and removes what was written. After Close it does nothing, so it
// can be deferred.
func (w *RowWriter[T]) Abort() {
	for _, writer := range w.writers {
		writer.Abort()
	}
}

// valueOf reads a field.
func valueOf(field reflect.Value) (Value, error) {
	switch {
	case field.CanInt():
		return IntValue(field.Int()), nil
	case field.CanUint():
		if field.Uint() > math.MaxInt64 {
			return Value{}, fmt.Errorf("export: %d does not fit in an int64: %w", field.Uint(), ErrValue)
		}
		return IntValue(int64(field.Uint())), nil
	case field.CanFloat():
		return FloatValue(field.Float()), nil
	case field.Kind() == reflect.Bool:
		return BoolValue(field.Bool()), nil
	default:
		return StringValue(field.String()), nil
	}
}
