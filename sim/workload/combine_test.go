package workload

import (
	"reflect"
	"slices"
	"testing"
)

func TestMixMergesByStartAndKeepsWaits(t *testing.T) {
	ring := RingAllReduce{Collective{Profile: Profile{Start: 50}, Bytes: 100}}
	mix := Mix{
		ring,
		Pairs{Profile: Profile{Start: 10}, Pairs: []Pair{{0, 1}}, Bytes: 5},
		RingAllReduce{Collective{Profile: Profile{Start: 30, Class: "second"}, Bytes: 200}},
	}
	flows := mustFlows(t, mix, 4, 1)
	var starts []int64
	for _, f := range flows[:9] {
		starts = append(starts, f.Start)
	}
	if want := []int64{10, 30, 30, 30, 30, 50, 50, 50, 50}; !slices.Equal(starts, want) {
		t.Errorf("starts %v, want %v", starts, want)
	}
	waits := 0
	for _, f := range flows {
		for _, id := range f.After {
			waits++
			if flows[id].Class != f.Class {
				t.Errorf("flow %d of %q waits for one of %q", f.ID, f.Class, flows[id].Class)
			}
			if f.Src != flows[id].Dst && f.Src != flows[id].Src {
				t.Errorf("flow %d from host %d waits for a transfer that its host has no part in", f.ID, f.Src)
			}
		}
	}
	if waits != 2*2*4*5 {
		t.Errorf("%d waits, want two for each of the 40 later transfers", waits)
	}
}

func TestMixPartsDrawApart(t *testing.T) {
	second := func(first Generator) []Flow {
		flows := mustFlows(t, Mix{first, Permutation{}}, 20, 1)
		return slices.DeleteFunc(flows, func(f Flow) bool { return f.Class != ClassPermutation })
	}
	a, b := second(Background{Count: 1}), second(Background{Count: 90})
	for i := range a {
		a[i].ID, b[i].ID = 0, 0
	}
	if !reflect.DeepEqual(a, b) {
		t.Error("the second part changed with the first")
	}
}

func TestAmongPlacesOnItsHosts(t *testing.T) {
	chosen := []int{9, 3, 1, 7}
	for _, f := range mustFlows(t, Among{Hosts: chosen, Generator: AllToAll{Bytes: 1}}, 12, 1) {
		if !slices.Contains(chosen, f.Src) || !slices.Contains(chosen, f.Dst) {
			t.Errorf("flow %d to %d leaves the chosen hosts", f.Src, f.Dst)
		}
	}
	got := mustFlows(t, Among{Hosts: chosen, Generator: Pairs{Pairs: []Pair{{0, 3}}}}, 12, 1)[0]
	if got.Src != 9 || got.Dst != 7 {
		t.Errorf("flow %d to %d, want 9 to 7", got.Src, got.Dst)
	}
}
