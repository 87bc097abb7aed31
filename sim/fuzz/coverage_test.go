package fuzz

import "testing"

// A few hundred seeds have everything that is counted, and most of it is not in all of them.
func TestSeedsCoverEverything(t *testing.T) {
	const seeds = 500
	counts, err := Covered(1, seeds)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.Seeds == 0 || c.Seeds == seeds {
			t.Errorf("%s %s: %d of %d seeds", c.Group, c.Name, c.Seeds, seeds)
		}
	}
	networks := 0
	for _, c := range counts[:3] {
		networks += c.Seeds
	}
	if networks != seeds {
		t.Errorf("%d networks in %d seeds", networks, seeds)
	}
}
