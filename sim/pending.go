package sim

// each shows every pending event, in no order.
func (c *calendar) each(show func(*event)) {
	for i := c.next; i < len(c.today); i++ {
		show(&c.today[i])
	}
	for _, i := range c.days {
		for ; i != noSheet; i = c.sheets[i].next {
			s := &c.sheets[i]
			for j := range s.events[:s.count] {
				show(&s.events[j])
			}
		}
	}
	for i := range c.far {
		show(&c.far[i])
	}
}

// eachPending shows every event that is still to happen, also those on their
// way from one shard to another.
func (n *Network) eachPending(show func(*event)) {
	for _, s := range n.shards {
		s.events.each(show)
		for _, box := range s.outbox {
			for i := range box {
				show(&box[i])
			}
		}
	}
}
