package braid

import (
	"testing"
	"time"
)

// Small messages that come while large ones are read make what is on its way short, for a while.
func TestFetchLimits(t *testing.T) {
	cfg, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	c := &Context{cfg: cfg, at: time.Second}
	q := &c.fetches
	want := func(why string, all, one int) {
		t.Helper()
		if a, o := q.limits(c); a != all*cfg.Fragment || o != one*cfg.Fragment {
			t.Errorf("%s: %d bytes, %d at once; want %d and %d fragments", why, a, o, all, one)
		}
	}
	want("nothing small has come", cfg.Fragments, fragmentsPerRead)
	q.small(c.at)
	want("it came when nothing was read", cfg.Fragments, fragmentsPerRead)
	q.outstanding = 1
	q.small(c.at)
	want("it came beside a READ", cfg.FragmentsBeside, 1)
	c.at += smallTime
	want("it is long ago", cfg.Fragments, fragmentsPerRead)
}
