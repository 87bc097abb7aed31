package fluid

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// Every parameter out of range is refused, with its name in the text.
func TestSolveRefusesBadParameters(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*Config)
		want error
		text string
	}{
		{"no links", func(c *Config) { c.Links = nil }, ErrConfig, "Links"},
		{"no groups", func(c *Config) { c.Groups = nil }, ErrConfig, "Groups"},
		{"negative packet", func(c *Config) { c.PacketBytes = -1 }, ErrConfig, "PacketBytes"},
		{"no rate", func(c *Config) { c.Links[1].RateBitsPerSecond = 0 }, ErrConfig, "link 1: Rate"},
		{"endless rate", func(c *Config) { c.Links[1].RateBitsPerSecond = math.Inf(1) }, ErrConfig, "Rate"},
		{"no RTT", func(c *Config) { c.Links[0].BaseRTT = 0 }, ErrConfig, "BaseRTT"},
		{"marks faster than light", func(c *Config) { c.Links[0].FeedbackRTT = time.Microsecond }, ErrConfig, "FeedbackRTT"},
		{"negative queue", func(c *Config) { c.Links[0].InitialQueue = -1 }, ErrConfig, "InitialQueue"},
		{"no PMax", func(c *Config) { c.Links[0].Marking.PMax = 0 }, ErrConfig, "PMax"},
		{"PMax above one", func(c *Config) { c.Links[0].Marking.PMax = 1.1 }, ErrConfig, "PMax"},
		{"PMax not a number", func(c *Config) { c.Links[0].Marking.PMax = math.NaN() }, ErrConfig, "PMax"},
		{"negative KMin", func(c *Config) { c.Links[0].Marking.KMin = -1 }, ErrConfig, "KMin"},
		{"KMax below KMin", func(c *Config) { c.Links[0].Marking.KMax = 19 }, ErrConfig, "KMax"},
		{"nobody in a group", func(c *Config) { c.Groups[0].Count = 0 }, ErrConfig, "Count"},
		{"no paths", func(c *Config) { c.Groups[0].Paths = nil }, ErrConfig, "Paths"},
		{"unknown link", func(c *Config) { c.Groups[0].Paths[3] = 4 }, ErrConfig, "path 3"},
		{"windows for other paths", func(c *Config) { c.Groups[0].InitialWindows = []float64{1} }, ErrConfig, "InitialWindows"},
		{"a path without window", func(c *Config) { c.Groups[0].InitialWindows = make([]float64, 8) }, ErrConfig, "InitialWindows[0]"},
		{"unknown feedback", func(c *Config) { c.Feedback = 7 }, ErrConfig, "Feedback"},
		{"no duration", func(c *Config) { c.Duration = 0 }, ErrConfig, "Duration"},
		{"negative step", func(c *Config) { c.Step = -1 }, ErrConfig, "Step"},
		{"step longer than an RTT", func(c *Config) { c.Step = 17 * time.Microsecond }, ErrStep, "Step"},
		{"samples within a step", func(c *Config) { c.SampleEvery = 1 }, ErrConfig, "SampleEvery"},
		{"tail longer than all", func(c *Config) { c.Tail = time.Second }, ErrConfig, "Tail"},
		{"too many steps", func(c *Config) { c.Duration = time.Hour }, ErrTooLarge, "steps"},
		{"too many paths", func(c *Config) { c.Groups[0].Paths = make([]int, maxVariables) }, ErrTooLarge, "virtual paths"},
		{
			"too many samples",
			func(c *Config) { c.Duration, c.SampleEvery = 3*time.Second, 250*time.Nanosecond },
			ErrTooLarge, "SampleEvery",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Figure5()
			c.edit(&cfg)
			result, err := Solve(cfg)
			if !errors.Is(err, c.want) || result != nil {
				t.Fatalf("Solve returned %v, %v; want %v", result, err, c.want)
			}
			if !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q does not name %q", err, c.text)
			}
		})
	}
}

// Windows of many thousand times what the link holds move its queue faster than
// a step of a whole RTT can follow.
func TestSolveReportsDivergence(t *testing.T) {
	cfg := Figure4(Figure4StandardRED)
	cfg.Groups[0].InitialWindows = []float64{1e6}
	cfg.Step = cfg.Links[0].BaseRTT
	if _, err := Solve(cfg); !errors.Is(err, ErrDiverged) {
		t.Errorf("Solve with a hopeless step: %v, want ErrDiverged", err)
	}
}

func TestFixedPointRefusesBadNetwork(t *testing.T) {
	if _, err := FixedPoint(Config{}); !errors.Is(err, ErrConfig) {
		t.Errorf("FixedPoint of nothing: %v, want ErrConfig", err)
	}
	if _, err := PrintedQueue(0, Figure5().Links[0], 0); !errors.Is(err, ErrConfig) {
		t.Errorf("PrintedQueue of no connection: %v, want ErrConfig", err)
	}
}
