package session

import "slices"

// openCalls are calls without a response, by number. Numbers follow each other, so that one of recent calls has a place of
// its own and is found without hashing; it is with the others where an older one still has the place.
type openCalls struct {
	count  int
	recent [64]*Out
	others map[uint32]*Out
}

func (c *openCalls) place(number uint32) **Out { return &c.recent[number%uint32(len(c.recent))] }

func (c *openCalls) add(m *Out) {
	c.count++
	if place := c.place(m.Call); *place == nil {
		*place = m
		return
	}
	if c.others == nil {
		c.others = map[uint32]*Out{}
	}
	c.others[m.Call] = m
}

// find returns the call of a number, or nil.
func (c *openCalls) find(number uint32) *Out {
	if m := *c.place(number); m != nil && m.Call == number {
		return m
	}
	return c.others[number]
}

func (c *openCalls) remove(m *Out) {
	c.count--
	if place := c.place(m.Call); *place == m {
		*place = nil
		return
	}
	delete(c.others, m.Call)
}

// takeAll removes all calls and returns them in order.
func (c *openCalls) takeAll() (all []*Out) {
	for _, m := range c.recent {
		if m != nil {
			all = append(all, m)
		}
	}
	for _, m := range c.others {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b *Out) int { return int(int32(a.Call - b.Call)) })
	*c = openCalls{}
	return all
}
