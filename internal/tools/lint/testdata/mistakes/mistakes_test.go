package mistakes

import (
	"os"
	"testing"
)

func TestUnchecked(t *testing.T) {
	os.Chdir("/") // tests may
	t.Log(Undocumented(1))
}
