package braid_test

import (
	"fmt"

	"github.com/braid-rdma/braid"
)

// Which channels of this user's programs wait for their peers?
func ExamplePublished() {
	for c, err := range braid.Published() {
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, ch := range c.Channels {
			if ch.Stats.Queued > 0 {
				fmt.Printf("%s %d waits for %v: %d messages\n", c.Program, c.PID, ch.Peer, ch.Stats.Queued)
			}
		}
	}
}
