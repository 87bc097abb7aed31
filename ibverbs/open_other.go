//go:build !(ibverbs && linux && cgo)

package ibverbs

import "github.com/braid-rdma/braid/verbs"

// Open opens a device of libibverbs. This program was built without it.
func Open(Config) (*verbs.Device, error) { return nil, ErrNotBuilt }
