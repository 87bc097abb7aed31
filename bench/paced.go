package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// pacedChunk is what a program writes at a time at a given rate: 64 KiB, as in the lab.
const pacedChunk = 64 << 10

// pacedRates are those at which processor time is measured, in Gb/s.
var pacedRates = []int{1, 4}

// pacedLeast is the part of the rate that has to arrive; with less the table shows it, because who does not keep up
// does another work.
const pacedLeast = 0.95

// processorSuite lists what is measured of processor time, and what braid promises of it.
func processorSuite(duration time.Duration) (groups []group) {
	for _, gbps := range pacedRates {
		at := func(peer string) func(context.Context) (sample, error) {
			return measurePaced(peer, gbps).lasting(duration)
		}
		name := func(what string) string { return fmt.Sprintf("%s, %d Gb/s", what, gbps) }
		groups = append(groups, group{
			part: partProcessor, title: fmt.Sprintf("processor time at %d Gb/s", gbps), metric: processor,
			contestants: []contestant{
				{name: name("TCP"), run: at("tcp")},
				{name: name("MPTCP"), run: at("mptcp")},
				{name: name("quic-go (encrypted)"), run: at("quic")},
				{name: name("braid MP, WRITE 64 KiB"), ours: true, target: &target{bound: 1.5, ofReference: true}, run: at("mp")},
				{name: name("braid RC with DCQCN, WRITE 64 KiB"), ours: true, target: &target{bound: 2, ofReference: true}, run: at("rc")},
			},
		})
	}
	return groups
}

// usage is what one end of a transfer had to do for it.
type usage struct {
	Bytes            int64   `json:"bytes"`
	Seconds          float64 `json:"seconds"`
	ProcessorSeconds float64 `json:"processor_seconds"` // of the process, system calls included
}

// meter measures the usage of this process.
type meter struct {
	begun     time.Time
	processor float64 // seconds
}

func startMeter() (meter, error) {
	used, err := processorTime()
	return meter{time.Now(), used}, err
}

func (m meter) usage(bytes int64) (usage, error) {
	used, err := processorTime()
	return usage{bytes, time.Since(m.begun).Seconds(), used - m.processor}, err
}

// A pacedEnd moves bytes between two processes at a rate. The server says where it listens, and
// returns what it received when the client is done.
type pacedEnd struct {
	serve func(ctx context.Context, ready func(address string) error) (usage, error)
	dial  func(ctx context.Context, address string) (pacedSender, error)
}

// A pacedSender is the connection of a client.
type pacedSender interface {
	// Write sends a chunk, or hands it over to be sent.
	Write(chunk []byte) (int, error)
	// Close returns when all has arrived.
	Close() error
}

// receive plays the role of the receiver.
func (p pacedEnd) receive(ctx context.Context, out io.Writer) error {
	received, err := p.serve(ctx, func(address string) error {
		_, err := fmt.Fprintf(out, "%s%s\n", readyPrefix, address)
		return err
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(received)
}

// client plays the role of a sender at a rate.
func (p pacedEnd) client(gbps int) role {
	return func(ctx context.Context, address string, duration time.Duration, out io.Writer) error {
		sender, err := p.dial(ctx, address)
		if err != nil {
			return err
		}
		chunk := make([]byte, pacedChunk)
		interval := time.Duration(float64(8*pacedChunk) / float64(gbps)) // Gb/s are bits in a nanosecond
		if _, err := sender.Write(chunk); err != nil {                   // the first of all is not measured
			return err
		}
		m, err := startMeter()
		if err != nil {
			return err
		}
		sent := int64(0)
		for due := m.begun; due.Before(m.begun.Add(duration)); due = due.Add(interval) {
			time.Sleep(time.Until(due))
			n, err := sender.Write(chunk)
			sent += int64(n)
			if err != nil {
				return err
			}
		}
		used, err := m.usage(sent)
		if err := errors.Join(err, sender.Close()); err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(used)
	}
}

// measurePaced measures the processor time of both ends for a gigabyte.
func measurePaced(peer string, gbps int) measurement {
	return func(ctx context.Context, duration time.Duration) (sample, error) {
		server, client, err := playPair(ctx, pacedRole(peer, gbps), duration)
		if err != nil {
			return sample{}, err
		}
		defer server.kill()
		defer client.kill()
		sent, err := finishPaced(client)
		if err != nil {
			return sample{}, err
		}
		received, err := finishPaced(server)
		if err != nil {
			return sample{}, err
		}
		return pacedSample(sent, received, gbps)
	}
}

// pacedSample puts the two ends together.
func pacedSample(sent, received usage, gbps int) (sample, error) {
	if received.Bytes < sent.Bytes || sent.Bytes == 0 {
		return sample{}, fmt.Errorf("of %d bytes %d arrived", sent.Bytes, received.Bytes)
	}
	s := sample{
		GoodputGbps:      float64(8*sent.Bytes) / sent.Seconds / 1e9,
		ProcessorSeconds: (sent.ProcessorSeconds + received.ProcessorSeconds) / (float64(sent.Bytes) / 1e9),
	}
	s.Late = s.GoodputGbps < pacedLeast*float64(gbps)
	return s, nil
}

func finishPaced(c *child) (u usage, err error) {
	output, err := c.finish()
	if err == nil {
		err = json.Unmarshal(output, &u)
	}
	return u, err
}

// pacedRole is the name of a pair of roles.
func pacedRole(peer string, gbps int) string { return fmt.Sprintf("paced-%s-%d", peer, gbps) }

// addPaced adds the roles of all who move bytes at a rate.
func addPaced(all map[string]role) {
	for peer, p := range pacedPeers {
		for _, gbps := range pacedRates {
			all[pacedRole(peer, gbps)+"-server"] = server(p.receive)
			all[pacedRole(peer, gbps)+"-client"] = p.client(gbps)
		}
	}
}

// receiveAll reads to the end, and measures from the first bytes on.
func receiveAll(r io.Reader) (usage, error) {
	buf := make([]byte, quicChunk)
	n, err := r.Read(buf)
	if err != nil {
		return usage{}, err
	}
	m, err := startMeter()
	received := int64(n)
	for err == nil {
		n, err = r.Read(buf)
		received += int64(n)
	}
	if !errors.Is(err, io.EOF) {
		return usage{}, err
	}
	return m.usage(received)
}
