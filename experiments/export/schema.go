package export

import (
	"errors"
	"fmt"
)

// Errors that can be told apart with errors.Is.
var (
	// ErrSchema means that columns are missing, have bad names or types, or do not
	// agree with a record or a file.
	ErrSchema = errors.New("schema does not fit")
	// ErrFormat means that the ending of a path is neither .csv nor .parquet.
	ErrFormat = errors.New("unknown format")
	// ErrValue means that a value of a record or file cannot be represented.
	ErrValue = errors.New("bad value")
	// ErrClosed means that the writer has been closed or aborted.
	ErrClosed = errors.New("writer is closed")
)

// A Kind is the type of a column.
type Kind int

// The kinds of column.
const (
	Int64 Kind = iota + 1
	Float64
	String
	Bool
)

// String returns the name of the kind.
func (k Kind) String() string {
	switch k {
	case Int64:
		return "int64"
	case Float64:
		return "float64"
	case String:
		return "string"
	case Bool:
		return "bool"
	default:
		return fmt.Sprintf("kind %d", int(k))
	}
}

// A Column is one column of a file.
type Column struct {
	// Name has lower-case letters, digits and underscores, and begins with a
	// letter; a unit comes last, as in fct_us.
	Name string
	Kind Kind
}

// A Schema is the columns of a file, in their order.
type Schema []Column

// maxColumns is far more than any record has; a schema beyond it is a mistake.
const maxColumns = 1000

// check tells what is wrong with the schema.
func (s Schema) check() error {
	if len(s) == 0 || len(s) > maxColumns {
		return fmt.Errorf("%d columns: %w", len(s), ErrSchema)
	}
	seen := map[string]bool{}
	for i, column := range s {
		if !validName(column.Name) {
			return fmt.Errorf("column %d is called %q: %w", i, column.Name, ErrSchema)
		}
		if seen[column.Name] {
			return fmt.Errorf("two columns are called %q: %w", column.Name, ErrSchema)
		}
		if column.Kind < Int64 || column.Kind > Bool {
			return fmt.Errorf("column %q is of %v: %w", column.Name, column.Kind, ErrSchema)
		}
		seen[column.Name] = true
	}
	return nil
}

func validName(name string) bool {
	for i, r := range name {
		letter := r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}

// accept tells whether the record has the columns of the schema.
func (s Schema) accept(r Record) error {
	if len(r) != len(s) {
		return fmt.Errorf("record has %d values for %d columns: %w", len(r), len(s), ErrSchema)
	}
	for i, v := range r {
		if v.kind != s[i].Kind {
			return fmt.Errorf("column %q is of %v, the value of %v: %w", s[i].Name, s[i].Kind, v.kind, ErrSchema)
		}
	}
	return nil
}
