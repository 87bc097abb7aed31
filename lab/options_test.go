package lab

import (
	"errors"
	"testing"
	"time"
)

func TestOptionsCheck(t *testing.T) {
	tests := map[string]func(*Options){
		"no name":           func(o *Options) { o.Name = "" },
		"name of a path":    func(o *Options) { o.Name = "../lab" },
		"long name":         func(o *Options) { o.Name = "abcdefghijklmnopq" },
		"no leaves":         func(o *Options) { o.Leaves = 0 },
		"too many leaves":   func(o *Options) { o.Leaves = MaxLeaves + 1 },
		"no hosts":          func(o *Options) { o.HostsPerLeaf = -1 },
		"too many hosts":    func(o *Options) { o.HostsPerLeaf = MaxHostsPerLeaf + 1 },
		"no spines":         func(o *Options) { o.Spines = 0 },
		"too many spines":   func(o *Options) { o.Spines = MaxSpines + 1 },
		"slow":              func(o *Options) { o.Rate = 1000 },
		"fast":              func(o *Options) { o.Rate = 1e15 },
		"slow hosts":        func(o *Options) { o.HostRate = 1 },
		"negative delay":    func(o *Options) { o.Delay = -1 },
		"long delay":        func(o *Options) { o.Delay = time.Minute },
		"threshold of zero": func(o *Options) { o.Threshold = 0 },
		"long threshold":    func(o *Options) { o.Threshold = time.Minute },
		"small MTU":         func(o *Options) { o.MTU = 100 },
		"large MTU":         func(o *Options) { o.MTU = 1 << 20 },
	}
	for name, spoil := range tests {
		o := Options{}.WithDefaults()
		if err := o.Check(); err != nil {
			t.Fatalf("the defaults: %v", err)
		}
		spoil(&o)
		if err := o.Check(); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v, want ErrOptions", name, err)
		}
	}
	o := Options{Threshold: NoMarks}.WithDefaults()
	if err := o.Check(); err != nil || o.Threshold != NoMarks {
		t.Errorf("no marks: threshold %v, %v", o.Threshold, err)
	}
}

func TestDirections(t *testing.T) {
	want := map[Direction][2]bool{Both: {true, true}, Forward: {true, false}, Backward: {false, true}}
	for _, d := range Directions {
		parsed, err := ParseDirection(string(d))
		if err != nil || parsed.includes(0) != want[d][0] || parsed.includes(1) != want[d][1] {
			t.Errorf("%s: %v, %v, %v", d, parsed.includes(0), parsed.includes(1), err)
		}
	}
	if _, err := ParseDirection("up"); !errors.Is(err, ErrOptions) {
		t.Errorf("up: %v", err)
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]int64{"1gbit": 1e9, "2.5Gbit": 25e8, "500mbit": 5e8, "25000000": 25e6, "64kbit": 64e3, "0": 0} {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
		if again, err := ParseRate(FormatRate(want)); err != nil || again != want {
			t.Errorf("%d is written %s, which is read %d, %v", want, FormatRate(want), again, err)
		}
	}
	for _, text := range []string{"", "fast", "1gb", "-1gbit", "1e300gbit", "nan", "inf"} {
		if got, err := ParseRate(text); !errors.Is(err, ErrOptions) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
