package main

import (
	"context"
	"time"
)

// suite lists what is measured over sockets and what braid promises. Each measurement lasts
// for the given duration.
func suite(braidBinary string, duration time.Duration) []group {
	braid := braidCommand{binary: braidBinary}
	lasting := func(m measurement) func(context.Context) (sample, error) { return m.lasting(duration) }
	return []group{
		{
			part:   partSockets,
			title:  "goodput",
			metric: goodput,
			contestants: []contestant{
				{name: "iperf3, one TCP stream", run: lasting(measureIperf)},
				{
					name: "braid MP, 4 paths, WRITE 1 MiB", ours: true,
					target: &target{bound: 1, ofReference: true},
					run:    lasting(braid.perf("write", "bw", "--qp", "mp", "--paths", "4", "-s", "1048576")),
				},
				{name: "quic-go, one stream (encrypted)", run: lasting(measureQUIC)},
				{
					name: "braid RC, WRITE 1 MiB", ours: true,
					target: &target{bound: 0.95, ofReference: true},
					run:    lasting(braid.perf("write", "bw", "--qp", "rc", "-s", "1048576")),
				},
			},
		},
		{
			part:   partSockets,
			title:  "latency, 64 B",
			metric: latency,
			contestants: []contestant{
				{name: "UDP ping-pong, blocking calls", run: lasting(measureUDP)},
				{
					name: "braid SEND 64 B", ours: true,
					target: &target{bound: 1.1, ofReference: true},
					run:    lasting(braid.perf("send", "lat", "-s", "64")),
				},
			},
		},
		{
			part:   partSockets,
			title:  "message rate, 64 B",
			metric: rate,
			contestants: []contestant{
				{
					name: "braid WRITE 64 B, depth 128", ours: true,
					target: &target{bound: 2},
					run:    lasting(braid.perf("write", "bw", "-s", "64", "-t", "128")),
				},
			},
		},
	}
}
