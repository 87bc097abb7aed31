package ibverbs

import "errors"

var (
	// ErrNotBuilt is what Open returns in a program that was built without the engine.
	ErrNotBuilt = errors.New("ibverbs: this program was built without it: build with -tags ibverbs on Linux, with cgo and libibverbs-dev")
	// ErrNoDevice is wrapped where no RDMA device has the name or address that was asked for.
	ErrNoDevice = errors.New("ibverbs: no such RDMA device")
)
