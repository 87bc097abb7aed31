package session

// sequence is one of the two in which messages are counted that the application has received. In each
// they are acknowledged in order. What is fetched for a second, or waits for that, holds back no
// acknowledgement of what does not.
type sequence uint8

const (
	// prompt messages are for the application as soon as they arrive: small requests, responses and cancels.
	prompt sequence = iota
	// late ones may not be: large ones, and one-way messages, which wait for large ones before them.
	late
	numSequences
)

func sequenceOf(k Kind, large bool) sequence {
	if k == Oneway || large {
		return late
	}
	return prompt
}

func (m *Out) sequence() sequence { return sequenceOf(m.Kind, m.Large) }
func (m *In) sequence() sequence  { return sequenceOf(m.Kind, m.remote) }

// counts has one of each sequence.
type counts [numSequences]uint64

func (c *counts) sum() uint64 { return c[prompt] + c[late] }
