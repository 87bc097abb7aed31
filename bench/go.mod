module github.com/braid-rdma/braid/bench

go 1.26.0

// Whatever is measured here is the tree that this module stands in.
replace github.com/braid-rdma/braid => ..

require (
	github.com/quic-go/quic-go v0.64.1
	golang.org/x/sys v0.49.0
)

require (
	github.com/braid-rdma/braid v0.0.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
