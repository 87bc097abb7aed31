package control

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain also checks that no goroutine outlives its line.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
