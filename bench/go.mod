module github.com/braid-rdma/braid/bench

go 1.26.0

// Whatever is measured here is the tree that this module stands in.
replace github.com/braid-rdma/braid => ..

require (
	github.com/quic-go/quic-go v0.64.1
	golang.org/x/sys v0.49.0
)

require (
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
)
