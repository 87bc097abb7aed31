package monitor

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// fabric is racks of hosts.
func fabric(racks, perRack int) (all []Host) {
	for r := range racks {
		for h := range perRack {
			all = append(all, Host{Name: fmt.Sprintf("r%dh%d", r, h), Addr: fmt.Sprintf("10.%d.%d.%d", r/250, r%250, h+1), Rack: fmt.Sprintf("r%d", r)})
		}
	}
	return all
}

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// rate is how many probes a second a list makes.
func rate(list []Target) (perSecond float64) {
	for _, t := range list {
		perSecond += 1 / t.Every.Seconds()
	}
	return perSecond
}

// TestPinglist checks that a host probes its whole rack and every other rack, at the rates asked for, on enough paths.
func TestPinglist(t *testing.T) {
	all := fabric(30, 8)
	racks := map[string]bool{}
	var inside, outside []Target
	for _, target := range (Mesh{}).Pinglist(all[3], all, noon) {
		h := all[slices.IndexFunc(all, func(h Host) bool { return h.Name == target.Host })]
		if h.Rack == all[3].Rack {
			inside = append(inside, target)
			continue
		}
		outside = append(outside, target)
		racks[h.Rack] = true
		if len(target.Paths) != 35 || !slices.IsSorted(target.Paths) || target.Paths[34] > 127 {
			t.Errorf("paths %v", target.Paths)
		}
	}
	if len(inside) != 7 || len(racks) != 29 || len(outside) != 29 {
		t.Errorf("%d in the rack, %d outside in %d racks", len(inside), len(outside), len(racks))
	}
	if in, out := rate(inside), rate(outside); in < 9.9 || in > 10.1 || out < 0.99 || out > 1.01 {
		t.Errorf("%.2f and %.2f probes a second", in, out)
	}
}

// TestPinglistChanges checks that about a fifth of what is between racks changes in an hour, and nothing within it.
func TestPinglistChanges(t *testing.T) {
	all := fabric(4, 50)
	pairs := func(at time.Time) (hosts, paths []string) {
		for _, from := range all {
			for _, target := range (Mesh{}).Pinglist(from, all, at) {
				if len(target.Paths) == 2 {
					continue // within the rack
				}
				hosts = append(hosts, from.Name+" "+target.Host)
				for _, p := range target.Paths {
					paths = append(paths, fmt.Sprint(from.Name, " ", target.Host, " ", p))
				}
			}
		}
		return hosts, paths
	}
	kept := func(before, after []string) float64 {
		was := map[string]bool{}
		for _, x := range before {
			was[x] = true
		}
		n := 0
		for _, x := range after {
			if was[x] {
				n++
			}
		}
		return float64(n) / float64(len(after))
	}
	hosts, paths := pairs(noon)
	same, samePaths := pairs(noon.Add(59 * time.Minute))
	if !slices.Equal(hosts, same) || !slices.Equal(paths, samePaths) {
		t.Error("a list changed within an hour")
	}
	later, _ := pairs(noon.Add(time.Hour))
	if k := kept(hosts, later); k < 0.6 || k > 0.9 {
		t.Errorf("%.0f %% of the pairs are the same after an hour", 100*k)
	}
	tomorrow, _ := pairs(noon.Add(24 * time.Hour))
	if k := kept(hosts, tomorrow); k > 0.3 {
		t.Errorf("%.0f %% of the pairs are the same after a day", 100*k)
	}
}

// TestPinglistIsEven checks that no host is probed much more than others.
func TestPinglistIsEven(t *testing.T) {
	all := fabric(20, 20)
	probed := map[string]float64{}
	for _, from := range all {
		for _, target := range (Mesh{}).Pinglist(from, all, noon) {
			probed[target.Host] += 1 / target.Every.Seconds()
		}
	}
	for name, perSecond := range probed {
		if perSecond > 13 || perSecond < 9 {
			t.Errorf("%s is probed %.1f times a second", name, perSecond)
		}
	}
	if len(probed) != len(all) {
		t.Errorf("%d of %d hosts are probed", len(probed), len(all))
	}
}

// Two hosts without racks probe each other all the same.
func TestPinglistWithoutRacks(t *testing.T) {
	all := []Host{{Name: "a"}, {Name: "b"}}
	if list := (Mesh{}).Pinglist(all[0], all, noon); len(list) != 1 || list[0].Host != "b" || list[0].Every != time.Second {
		t.Errorf("%+v", list)
	}
}

// TestPinglistIsBounded checks that neither racks nor hosts of one without end make a list without end, and that hosts of one rack share the others.
func TestPinglistIsBounded(t *testing.T) {
	all := fabric(1000, 3)
	racks := map[string]bool{}
	for _, from := range all[:3] {
		from.Paths = 1 << 16
		list := (Mesh{}).Pinglist(from, all, noon)
		if len(list) != 2+maxTargets {
			t.Errorf("%d targets", len(list))
		}
		for _, target := range list[2:] {
			racks[all[slices.IndexFunc(all, func(h Host) bool { return h.Name == target.Host })].Rack] = true
			if last := target.Paths[len(target.Paths)-1]; last >= maxPaths || len(target.Paths) > 35 {
				t.Errorf("paths %v", target.Paths)
			}
		}
	}
	if len(racks) < 2*maxTargets {
		t.Errorf("three hosts of a rack probe %d racks", len(racks))
	}
	if list := (Mesh{}).Pinglist(all[0], fabric(1, 1000), noon); len(list) != maxTargets {
		t.Errorf("%d targets in a rack", len(list))
	}
}

// BenchmarkPinglist is the list of one of 4,000 hosts.
func BenchmarkPinglist(b *testing.B) {
	all := fabric(200, 20)
	f := newFloor(all)
	for b.Loop() {
		(Mesh{}).pinglist(all[7], f, noon)
	}
}
