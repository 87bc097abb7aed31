package workload

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTraceReadsEveryColumn(t *testing.T) {
	const text = "\ufeffbytes, priority ,src,dst,class,start_us\n" +
		"# a comment\n" +
		"1000,5,0,3,\"web, search\",20.000001\n" +
		"\n" +
		"0,,2,1,, 1.5\n" +
		"7,0,1,0,mouse,0\n"
	trace, err := ParseTrace(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if trace.Len() != 3 || trace.Hosts() != 4 {
		t.Errorf("%d flows among %d hosts, want 3 among 4", trace.Len(), trace.Hosts())
	}
	trace.Profile = Profile{Start: 100, Priority: 2, Message: 512}
	got := mustFlows(t, trace, 4, 1)
	want := []Flow{
		{ID: 0, Src: 1, Dst: 0, Start: 100, Bytes: 7, Message: 512, Class: "mouse", Priority: 0},
		{ID: 1, Src: 2, Dst: 1, Start: 1_500_100, Bytes: 0, Message: 512, Class: ClassTrace, Priority: 2},
		{ID: 2, Src: 0, Dst: 3, Start: 20_000_101, Bytes: 1000, Message: 512, Class: "web, search", Priority: 5},
	}
	if !slices.EqualFunc(got, want, func(a, b Flow) bool {
		return a.After == nil && a.ID == b.ID && a.Src == b.Src && a.Dst == b.Dst && a.Start == b.Start &&
			a.Bytes == b.Bytes && a.Message == b.Message && a.Class == b.Class && a.Priority == b.Priority
	}) {
		t.Errorf("flows\n%+v\nwant\n%+v", got, want)
	}
}

func TestTraceRefuses(t *testing.T) {
	const header = "src,dst,start_us,bytes\n"
	tests := []struct {
		name, text, field string
		line              int
	}{
		{"nothing", "", "", 1},
		{"only a comment", "# nothing\n", "", 1},
		{"only a header", "\n" + header, "", 2},
		{"unknown column", "src,dst,start_us,bytes,colour\n", "", 1},
		{"no header", "0,1,0,100\n", "", 1},
		{"missing column", "src,dst,bytes\n0,1,5\n", "start_us", 1},
		{"column twice", "src,dst,start_us,bytes,src\n", "src", 1},
		{"too few fields", header + "0,1,0,5\n0,1,0\n", "", 3},
		{"too many fields", header + "0,1,0,5,6\n", "", 2},
		{"stray quote", header + "0,\"1,0,5\n", "", 2},
		{"negative host", header + "-1,1,0,5\n", "src", 2},
		{"fraction of a host", header + "0,1.5,0,5\n", "dst", 2},
		{"host beyond the limit", header + "1048576,1,0,5\n", "src", 2},
		{"to itself", header + "3,3,0,5\n", "dst", 2},
		{"empty start", header + "0,1,,5\n", "start_us", 2},
		{"negative start", header + "0,1,-1,5\n", "start_us", 2},
		{"signed decimals", header + "0,1,1.+5,5\n", "start_us", 2},
		{"nothing after the point", header + "0,1,1.,5\n", "start_us", 2},
		{"nothing before the point", header + "0,1,.5,5\n", "start_us", 2},
		{"below a picosecond", header + "0,1,1.0000001,5\n", "start_us", 2},
		{"exponent", header + "0,1,1e3,5\n", "start_us", 2},
		{"after the end of time", header + "0,1,1000000000000.000001,5\n", "start_us", 2},
		{"negative bytes", header + "# comment\n0,1,0,-5\n", "bytes", 3},
		{"bytes with a unit", header + "0,1,0,5K\n", "bytes", 2},
		{"bytes beyond the limit", header + "0,1,0,9223372036854775807\n", "bytes", 2},
		{"ninth priority", "src,dst,start_us,bytes,priority\n0,1,0,5,8\n", "priority", 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseTrace(strings.NewReader(test.text))
			var fault *TraceError
			if !errors.As(err, &fault) || !errors.Is(err, ErrTrace) {
				t.Fatalf("error %v, want a TraceError", err)
			}
			if fault.Line != test.line || fault.Field != test.field {
				t.Errorf("error at line %d, field %q, want line %d, field %q: %v",
					fault.Line, fault.Field, test.line, test.field, err)
			}
			if fault.Got == "" || fault.Want == "" {
				t.Errorf("error without value or expectation: %+v", fault)
			}
		})
	}
}

func TestTraceNamesTheLineOfAStranger(t *testing.T) {
	trace, err := ParseTrace(strings.NewReader("src,dst,start_us,bytes\n0,1,0,5\n1,4,0,5\n"))
	if err != nil {
		t.Fatal(err)
	}
	mustFlows(t, trace, 5, 1)
	_, err = trace.Flows(4, seeded(1))
	var fault *TraceError
	if !errors.As(err, &fault) || fault.Line != 3 || fault.Field != "dst" {
		t.Errorf("error %v, want one at line 3, field dst", err)
	}
	trace.Priority = 8
	_, err = trace.Flows(5, seeded(1))
	wantConfigError(t, err, "Priority")
}

func TestTracePassesReadErrorsOn(t *testing.T) {
	broken := errors.New("the disk is gone")
	for _, text := range []string{"", "src,dst,start_us,bytes\n0,1,0,5\n"} {
		_, err := ParseTrace(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || errors.Is(err, ErrTrace) {
			t.Errorf("error %v, want that of the reader", err)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("src,dst,start_us,bytes\n0,1,0,5\n")
	f.Add("dst,src,bytes,start_us,class,priority\n9,1,5,12.345678,mouse,7\n# x\n3,4,0,0,,\n")
	f.Add("src,dst,start_us,bytes\n\"0\n\",1,0,5\n")
	f.Add("src,dst,start_us,bytes\n0,0,0,5\n1,,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ParseTrace(strings.NewReader(text))
		if err != nil {
			var fault *TraceError
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Want == "" {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		flows, err := trace.Flows(trace.Hosts(), seeded(1))
		if err != nil {
			t.Fatalf("a trace that was read cannot be used: %v", err)
		}
		if len(flows) != trace.Len() {
			t.Fatalf("%d flows of %d lines", len(flows), trace.Len())
		}
		if err := Check(flows, trace.Hosts()); err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Flows(trace.Hosts()-1, seeded(1)); err == nil {
			t.Fatal("the last host can be left out")
		}
	})
}
