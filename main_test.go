package braid

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, and fails if one left a goroutine behind. With the variable of a child
// in its environment the same binary is the second process of a test instead.
func TestMain(m *testing.M) {
	switch role := os.Getenv(childVariable); role {
	case "":
	case overrunRole:
		os.Exit(beOverrun())
	default:
		os.Exit(beChild(role))
	}
	goleak.VerifyTestMain(m)
}
