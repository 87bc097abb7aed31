//go:build !(ibverbs && linux && cgo)

package ibverbs

import (
	"errors"
	"strings"
	"testing"
)

func TestOpenNamesTheTag(t *testing.T) {
	d, err := Open(Config{})
	if d != nil || !errors.Is(err, ErrNotBuilt) || !strings.Contains(err.Error(), "-tags ibverbs") {
		t.Errorf("%v, %v; want an error that says how to build", d, err)
	}
}
