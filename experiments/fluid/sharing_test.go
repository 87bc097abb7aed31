package fluid

import (
	"math"
	"math/rand/v2"
	"testing"
)

// However packets are moved about, each is in one place: a group's are placed or
// wait, and a link's fill what it holds.
func TestSharingConservesPackets(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 9))
		cfg := randomConfig(rng).withDefaults()
		m := newModel(&cfg)
		whole := island{}
		for g := range m.count {
			whole.groups = append(whole.groups, g)
		}
		for j := range m.links {
			whole.links = append(whole.links, j)
		}
		ratio := m.balance(whole)
		s := newSharing(m, whole, ratio, m.reachability())
		for s.augment() {
			moved++
		}
		onLink := make([]float64, len(m.links))
		for g := range m.count {
			total := s.waiting[g]
			for j, packets := range s.placed[g] {
				if packets < -s.grain || packets > 0 && !s.reaches[g][j] {
					t.Fatalf("seed %d: %v packets of group %d on link %d", seed, packets, g, j)
				}
				total += packets
				onLink[j] += packets
			}
			if want := m.count[g] * windowAt(ratio); !near(total, want, 1e-9) {
				t.Fatalf("seed %d: group %d has %v packets, want %v", seed, g, total, want)
			}
		}
		for j, packets := range onLink {
			if want := m.links[j].holds(ratio); math.Abs(packets+s.room[j]-want) > 1e-9*want {
				t.Fatalf("seed %d: link %d has %v packets and room for %v, want %v together", seed, j, packets, s.room[j], want)
			}
		}
	}
	if moved == 0 {
		t.Error("nothing was ever placed")
	}
}
