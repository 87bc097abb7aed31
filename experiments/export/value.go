package export

import (
	"math"
	"strconv"
)

// A Value is one field of a record. Build one with [IntValue], [FloatValue],
// [StringValue] or [BoolValue].
type Value struct {
	kind Kind
	bits uint64 // of all kinds but String
	text string
}

// A Record is one value for each column of a schema.
type Record []Value

// IntValue returns a value of kind Int64.
func IntValue(v int64) Value { return Value{kind: Int64, bits: uint64(v)} }

// FloatValue returns a value of kind Float64.
func FloatValue(v float64) Value { return Value{kind: Float64, bits: math.Float64bits(v)} }

// StringValue returns a value of kind String.
func StringValue(v string) Value { return Value{kind: String, text: v} }

// BoolValue returns a value of kind Bool.
func BoolValue(v bool) Value {
	value := Value{kind: Bool}
	if v {
		value.bits = 1
	}
	return value
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// Int returns the number of an Int64 value.
func (v Value) Int() int64 { return int64(v.bits) }

// Float returns the number of a Float64 value.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Text returns the text of a String value.
func (v Value) Text() string { return v.text }

// Bool returns the truth of a Bool value.
func (v Value) Bool() bool { return v.bits != 0 }

// append writes the value the way CSV has it, before quoting.
func (v Value) append(b []byte) []byte {
	switch v.kind {
	case Int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case Float64:
		return strconv.AppendFloat(b, v.Float(), 'g', -1, 64)
	case Bool:
		return strconv.AppendBool(b, v.Bool())
	default:
		return append(b, v.text...)
	}
}

// parseValue reads what append wrote.
func parseValue(kind Kind, text string) (Value, error) {
	switch kind {
	case Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		return IntValue(n), err
	case Float64:
		f, err := strconv.ParseFloat(text, 64)
		return FloatValue(f), err
	case Bool:
		b, err := strconv.ParseBool(text)
		return BoolValue(b), err
	default:
		return StringValue(text), nil
	}
}
