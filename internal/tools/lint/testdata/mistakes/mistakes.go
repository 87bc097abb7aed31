// Package mistakes has one for each linter. A comment after it names who has to find it.
package mistakes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var errEnd = errors.New("end")

// Copy has most of them.
func Copy(from io.Reader) error {
	os.Chdir("/")           // want errcheck
	os.Chdir("/")           //nolint:errcheck // it is there
	defer os.Remove("/tmp") // closing and removing are not looked at
	fmt.Printf("%d\n", "x") // want govet staticcheck
	n := 1                  // want ineffassign
	n = 2
	_, err := from.Read(make([]byte, n))
	if err == errEnd { // want errorlint
		return nil
	}
	if strings.Index("abc", "b") != -1 { // want staticcheck
		return errEnd
	}
	return fmt.Errorf("it was not recieved: %w", err) // want misspell
}

func Undocumented(x int) int { // want revive
	y := int(x) // want unconvert
	return y
}

// Lower is a function of one function.
func Lower(a string) string {
	f := func(s string) string { return strings.ToLower(s) } // want gocritic
	return f(a)
}

func nobody() {} // want unused

type hidden struct{}

// Hidden returns what nobody else can name.
func Hidden() []*hidden { return nil } // want unexported

// Close belongs to a type that nobody else has.
func (h *hidden) Close() *hidden { return h }
