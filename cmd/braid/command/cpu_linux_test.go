package command

import "testing"

func TestProcessorTimes(t *testing.T) {
	got, err := parseProcessorTimes("cpu  100 10 40 700 50 3 7 90 0 0\ncpu0 1 1 1 1\n")
	if want := (processorTimes{busy: 250, all: 1000}); err != nil || got != want {
		t.Errorf("%+v, error %v, want %+v", got, err, want)
	}
	if _, err := parseProcessorTimes("intr 1"); err == nil {
		t.Error("a file without processors is read")
	}
	if now, err := readProcessorTimes(); err != nil || now.all == 0 || now.busy > now.all {
		t.Errorf("this machine: %+v, error %v", now, err)
	}
}
