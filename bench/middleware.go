package main

import (
	"context"
	"time"
)

// middlewareSuite lists what is measured of channels, calls and streams, and what braid promises
// of them. The promises are those of X-RDMA (Ma et al., CLUSTER 2019) where it has one.
func middlewareSuite(braidBinary string, duration time.Duration) []group {
	braid := braidCommand{binary: braidBinary}
	lasting := func(m measurement) func(context.Context) (sample, error) { return m.lasting(duration) }
	small := []string{"-s", "64"}
	return []group{
		{
			part: partMiddleware, title: "one call, 64 B", metric: roundTrip,
			contestants: []contestant{
				{name: "SEND 64 B there and back, verbs", ours: true, run: lasting(braid.pingPong(small...))},
				{
					name: "Channel.Call 64 B", ours: true, target: &target{bound: 1.5, ofReference: true},
					run:   lasting(betweenTwo("call")),
					paper: &claim{What: "ping-pong, to ibv_rc_pingpong (figure 7)", Ratio: 1.10, Differs: "the base is software too: braid's SENDs on loopback, not a NIC's"},
				},
				{name: "gRPC-Go 64 B, loopback TCP", run: lasting(betweenTwo("grpc"))},
				{
					name: "Channel.Call 64 B, to gRPC-Go", ours: true, reference: 2,
					target: &target{bound: 1.0 / 3, ofReference: true}, run: lasting(betweenTwo("call")),
				},
				{name: "ucx_perftest tag_lat 64 B, loopback TCP", run: lasting(measureUCX("tag_lat", 64, ucxRoundTrips))},
			},
		},
		{
			part: partMiddleware, title: "calls, 64 B, 64 in flight", metric: rate,
			contestants: []contestant{
				{name: "gRPC-Go, 64 in flight", run: lasting(betweenTwo("grpcs"))},
				{
					name: "Channel.Call, 64 in flight", ours: true, target: &target{bound: 5, ofReference: true},
					run: lasting(betweenTwo("calls")),
				},
			},
		},
		{
			part: partMiddleware, title: "calls, 64 B, beside 1 GiB", metric: tail,
			contestants: []contestant{
				{name: "Channel.Call 64 B, alone", ours: true, run: lasting(betweenTwo("call"))},
				{
					name: "beside 1 GiB on another channel", ours: true, target: &target{bound: 5, ofReference: true},
					run: lasting(betweenTwo("besides")),
				},
				{
					name: "beside 1 GiB on the same channel", ours: true, target: &target{bound: 5, ofReference: true},
					run: lasting(betweenTwo("beside")),
				},
			},
		},
		{
			part: partMiddleware, title: "messages, 1 MiB", metric: goodput,
			contestants: []contestant{
				{name: "WRITE 1 MiB, verbs", ours: true, run: lasting(braid.perf("write", "bw", "-s", "1048576"))},
				{
					name: "Channel.SendAll, 1 MiB each", ours: true, target: &target{bound: 0.9, ofReference: true},
					run: lasting(betweenTwo("sequence")),
				},
				{
					name: "Channel.Send 1 MiB, four at a time", ours: true, target: &target{bound: 0.9, ofReference: true},
					run: lasting(betweenTwo("messages")),
				},
				{name: "ucx_perftest tag_bw 1 MiB, loopback TCP", run: lasting(measureUCX("tag_bw", largeBytes, ucxMebibytes))},
			},
		},
		{
			part: partMiddleware, title: "connections", metric: connection,
			contestants: []contestant{
				{name: "Context.Dial, without the QP cache at either end", ours: true, run: lasting(betweenTwo("dial"))},
				{
					name: "Context.Dial, with it", ours: true, target: &target{bound: 0.62, ofReference: true},
					run: lasting(betweenTwo("redial")),
					paper: &claim{
						What: "connection with the QP cache, to without (2451 of 3946 µs)", Ratio: 0.62,
						Differs: "the paper saves the creation of queue pairs in the RNIC; here it is mostly the round trip of the proof of address, which a ticket replaces",
					},
				},
			},
		},
		{
			part: partMiddleware, title: "net/http, bodies of 1 MiB", metric: goodput,
			contestants: []contestant{
				{name: "net/http over loopback TCP", run: lasting(betweenTwo("web"))},
				{
					name: "net/http over netconn", ours: true, target: &target{bound: 1, ofReference: true},
					run: lasting(betweenTwo("web-braid")),
				},
			},
		},
	}
}
