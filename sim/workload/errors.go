package workload

import (
	"errors"
	"fmt"
	"strconv"
)

// The kinds of errors, for errors.Is. Each is the cause of one error type that
// also tells the place.
var (
	// ErrConfig: a generator, or a flow made by hand, asks for the impossible.
	ErrConfig = errors.New("impossible configuration")
	// ErrTrace: a trace file is malformed.
	ErrTrace = errors.New("malformed trace")
	// ErrDistribution: a flow-size distribution is malformed.
	ErrDistribution = errors.New("malformed distribution")
)

// A ConfigError names the field of a configuration that cannot be met.
type ConfigError struct {
	Workload string // such as "incast"
	Field    string // the Go name of the field, such as "HostsPerGroup"
	Got      string
	Want     string // what was expected
}

// Error tells workload, field, value and expectation.
func (e *ConfigError) Error() string {
	return fmt.Sprintf("workload: %s: %s is %s, expected %s", e.Workload, e.Field, e.Got, e.Want)
}

// Unwrap makes the error an ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// A TraceError names the line and the field of a trace that cannot be used.
type TraceError struct {
	Line  int    // from 1
	Field string // the column's name; empty when the whole line is meant
	Got   string
	Want  string // what was expected
}

// Error tells line, field, value and expectation.
func (e *TraceError) Error() string {
	place := "line " + strconv.Itoa(e.Line)
	if e.Field != "" {
		place += ", field " + e.Field
	}
	return fmt.Sprintf("workload: trace %s: got %s, expected %s", place, e.Got, e.Want)
}

// Unwrap makes the error an ErrTrace.
func (e *TraceError) Unwrap() error { return ErrTrace }

// A DistributionError names the point of a flow-size distribution that is wrong.
type DistributionError struct {
	Point int // from 1; 0 when the whole distribution is meant
	Got   string
	Want  string // what was expected
}

// Error tells point, value and expectation.
func (e *DistributionError) Error() string {
	place := "distribution"
	if e.Point > 0 {
		place += ", point " + strconv.Itoa(e.Point)
	}
	return fmt.Sprintf("workload: %s: got %s, expected %s", place, e.Got, e.Want)
}

// Unwrap makes the error an ErrDistribution.
func (e *DistributionError) Unwrap() error { return ErrDistribution }
