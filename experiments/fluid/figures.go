package fluid

import "time"

// RED of figure 4, standard and DCTCP (§3.2.1).
var (
	Figure4StandardRED = Marking{PMax: 0.8, KMin: 20, KMax: 200}
	Figure4DCTCP       = DCTCPMarking(65)
)

// Figure4 is the single-path case of §3.2.1: eight connections on one link of
// 10 Gb/s with an RTT of 100 µs.
func Figure4(marking Marking) Config {
	return Config{
		Links:    []Link{{RateBitsPerSecond: 10e9, BaseRTT: 100 * time.Microsecond, Marking: marking}},
		Groups:   []Group{{Count: 8, Paths: []int{0}}},
		Duration: 40 * time.Millisecond,
	}
}

// Figure5 is the multi-path case of §3.2.1: ten connections of eight virtual
// paths over links of 20, 40, 60 and 80 Gb/s whose RED curves differ in Pmax,
// with an RTT of 16 µs. Each link gets two virtual paths of every connection,
// the equal share that the paper expects of a random mapping; give Groups of
// one connection each to study a particular draw.
func Figure5() Config {
	c := Config{
		Groups:   []Group{{Count: 10, Paths: []int{0, 1, 2, 3, 0, 1, 2, 3}}},
		Duration: 40 * time.Millisecond,
	}
	for j := range 4 {
		c.Links = append(c.Links, Link{
			RateBitsPerSecond: float64(j+1) * 20e9,
			BaseRTT:           16 * time.Microsecond,
			Marking:           Marking{PMax: float64(j+1) * 0.2, KMin: 20, KMax: 200},
		})
	}
	return c
}
