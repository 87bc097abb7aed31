package topology_test

import (
	"math"
	"math/bits"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
)

// roceV2 is the destination port of every packet of ours.
const roceV2 = 4791

// A family is a way in which the packets of a run differ from each other; the
// hash has to spread each of them.
var families = []struct {
	name string
	hash func(seed uint64, i int) uint32
}{
	{"source ports of one connection", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, 0, 19, uint16(49152+i%16384), roceV2)
	}},
	{"every fourth source port", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, 0x0a000001, 0x0a000002, uint16(4*i), roceV2)
	}},
	{"sources of an incast", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, uint32(i), 7, 49152, roceV2)
	}},
	{"destinations of one host", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, 7, uint32(i), 49152, roceV2)
	}},
	{"a permutation", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, uint32(i), uint32(i+160), 49152, roceV2)
	}},
	{"addresses that differ in the upper bytes", func(seed uint64, i int) uint32 {
		return topology.Hash(seed, uint32(i)<<16, uint32(i)<<18, 49152, roceV2)
	}},
}

// deviations tells by how many standard deviations Pearson's chi-square of the
// counts differs from what even chances give.
func deviations(counts []int) float64 {
	total := 0
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	var chi float64
	for _, c := range counts {
		chi += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	freedom := float64(len(counts) - 1)
	return (chi - freedom) / math.Sqrt(2*freedom)
}

// A hash that is even by chance stays within a few deviations in each of the
// cases below; they are fixed, so the test does not flicker.
const tolerable = 5

func TestHashIsEven(t *testing.T) {
	for _, family := range families {
		for _, paths := range []int{2, 3, 4, 5, 16, 32, 100} {
			for _, seed := range []uint64{0, 1, 2, topology.SwitchSeed(1, 10)} {
				counts := make([]int, paths)
				for i := range 8192 {
					counts[topology.Pick(family.hash(seed, i), paths)]++
				}
				if d := deviations(counts); d > tolerable {
					t.Errorf("%s, %d paths, seed %#x: %.1f deviations from even: %v", family.name, paths, seed, d, counts)
				}
			}
		}
	}
}

// jointCounts counts how often the packets take path a at one switch and path b
// at the next.
func jointCounts(hash func(uint64, int) uint32, seedA, seedB uint64, paths int) []int {
	counts := make([]int, paths*paths)
	for i := range 8192 {
		a, b := topology.Pick(hash(seedA, i), paths), topology.Pick(hash(seedB, i), paths)
		counts[a*paths+b]++
	}
	return counts
}

func TestSwitchesChooseIndependently(t *testing.T) {
	for _, family := range families {
		for _, paths := range []int{2, 4, 8} {
			for _, run := range []uint64{0, 1, 2, 3} {
				for node := range 8 {
					seedA, seedB := topology.SwitchSeed(run, node), topology.SwitchSeed(run, node+1)
					counts := jointCounts(family.hash, seedA, seedB, paths)
					if d := deviations(counts); d > tolerable {
						t.Errorf("%s, run %d, switches %d and %d: %.1f deviations from independent: %v",
							family.name, run, node, node+1, d, counts)
					}
				}
			}
		}
	}
}

// With one seed everywhere the second switch sees only packets for which it makes
// the choice that the first one made: of its paths all but one stay empty.
func TestEqualSeedsPolarise(t *testing.T) {
	const paths = 4
	counts := jointCounts(families[0].hash, 5, 5, paths)
	for a := range paths {
		for b := range paths {
			if used := counts[a*paths+b] > 0; used != (a == b) {
				t.Errorf("path %d, then path %d: %d packets", a, b, counts[a*paths+b])
			}
		}
	}
}

// In a fat tree, edge and aggregation switch choose one after the other. How many
// of the 16 paths do 1,024 source ports find, with unequal seeds and with equal?
func TestPolarisationInAFatTree(t *testing.T) {
	g := build(t, topology.FatTree{K: 8, Rate: 1})
	r := g.Routes()
	pathsFound := func(seed func(node int) uint64) int {
		found := map[int]bool{}
		for sport := range 1024 {
			path := r.Path(0, 127, func(node int) uint32 {
				return topology.Hash(seed(node), 0, 127, uint16(sport), roceV2)
			})
			found[path[2].Link] = true // the link into the core tells the path
		}
		return len(found)
	}
	if n := pathsFound(func(node int) uint64 { return topology.SwitchSeed(1, node) }); n != 16 {
		t.Errorf("with a seed for each switch %d of 16 paths are found", n)
	}
	if n := pathsFound(func(int) uint64 { return 1 }); n != 4 {
		t.Errorf("with one seed for all %d of 16 paths are found, want the 4 that polarisation leaves", n)
	}
}

// One bit of input must change half of the result on average, whichever it is.
func TestEveryBitCounts(t *testing.T) {
	const samples = 2000
	for bit := range 160 {
		changed := 0
		for i := range samples {
			seed, src, dst := topology.SwitchSeed(9, i), uint32(i*7), uint32(i*13+1)
			ports := uint32(49152+i)<<16 | roceV2
			before := topology.Hash(seed, src, dst, uint16(ports>>16), uint16(ports))
			switch {
			case bit < 64:
				seed ^= 1 << bit
			case bit < 96:
				src ^= 1 << (bit - 64)
			case bit < 128:
				dst ^= 1 << (bit - 96)
			default:
				ports ^= 1 << (bit - 128)
			}
			changed += bits.OnesCount32(before ^ topology.Hash(seed, src, dst, uint16(ports>>16), uint16(ports)))
		}
		if mean := float64(changed) / samples; mean < 15.5 || mean > 16.5 {
			t.Errorf("input bit %d changes %.2f bits of 32 on average", bit, mean)
		}
	}
}

func TestPickStaysInRange(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, topology.MaxPorts} {
		if low, high := topology.Pick(0, n), topology.Pick(math.MaxUint32, n); low != 0 || high != n-1 {
			t.Errorf("of %d the extremes pick %d and %d", n, low, high)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	var sum uint32
	for b.Loop() {
		sum += topology.Hash(1, sum, 2, 3, roceV2)
	}
}
