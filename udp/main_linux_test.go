package udp

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and fails if one left a thread of a device behind.
// With the variable of a child in its environment the same binary is the second
// process of a test instead.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(serveParent(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
