package export

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
)

// Read returns all records of a file, which must have the columns of the schema.
func Read(path string, schema Schema) ([]Record, error) {
	records, err := read(path, schema)
	if err != nil {
		return nil, fmt.Errorf("export: %s: %w", path, err)
	}
	return records, nil
}

func read(path string, schema Schema) ([]Record, error) {
	if err := schema.check(); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch filepath.Ext(path) {
	case ".csv":
		return readCSV(f, schema)
	case ".parquet":
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		return readParquet(f, info.Size(), schema)
	default:
		return nil, fmt.Errorf("path ends in %q: %w", filepath.Ext(path), ErrFormat)
	}
}

// ReadRows returns all rows of a file that a RowWriter of the same type wrote.
func ReadRows[T any](path string) ([]T, error) {
	schema, indices, err := columnsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	records, err := Read(path, schema)
	if err != nil {
		return nil, err
	}
	rows := make([]T, len(records))
	for n, record := range records {
		view := reflect.ValueOf(&rows[n]).Elem()
		for i, index := range indices {
			if err := setField(view.Field(index), record[i]); err != nil {
				return nil, fmt.Errorf("export: %s: record %d, column %q: %w", path, n, schema[i].Name, err)
			}
		}
	}
	return rows, nil
}

// setField writes a value to a field that may be narrower than the column.
func setField(field reflect.Value, v Value) error {
	switch {
	case field.CanInt():
		if field.OverflowInt(v.Int()) {
			return fmt.Errorf("%d does not fit in %v: %w", v.Int(), field.Type(), ErrValue)
		}
		field.SetInt(v.Int())
	case field.CanUint():
		if v.Int() < 0 || field.OverflowUint(uint64(v.Int())) {
			return fmt.Errorf("%d does not fit in %v: %w", v.Int(), field.Type(), ErrValue)
		}
		field.SetUint(uint64(v.Int()))
	case field.CanFloat():
		field.SetFloat(v.Float())
	case field.Kind() == reflect.Bool:
		field.SetBool(v.Bool())
	default:
		field.SetString(v.Text())
	}
	return nil
}
