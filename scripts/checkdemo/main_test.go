package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const good = `{"schema":1,"verified":true,"paths":4,"bytes":1048576,"goodput_gbps":12.5,` +
		`"cut":{"longest_stall_ms":3},"restored":40}`
	replaced := func(old, new string) string { return strings.Replace(good, old, new, 1) }
	tests := []struct {
		name  string
		input string
		want  string // part of the error; empty when the input is good
	}{
		{"good", good, ""},
		{"paths as a list", replaced(`"paths":4`, `"paths":[{},{},{},{}]`), ""},
		{"not verified", replaced("true", "false"), "verified is false"},
		{"verified as text", replaced("true", `"true"`), "verified is"},
		{"too few paths", replaced(`"paths":4`, `"paths":3`), "used 3 paths"},
		{"paths as text", replaced(`"paths":4`, `"paths":"4"`), "neither"},
		{"nothing moved", replaced("1048576", "0"), "bytes is 0"},
		{"no cut", replaced(`"cut"`, `"cat"`), `key "cut" is missing`},
		{"null", replaced(`"restored":40`, `"restored":null`), `key "restored" is missing`},
		{"empty", "", "not one JSON object"},
		{"two objects", good + good, "not one JSON object"},
		{"a list", "[]", "not one JSON object"},
	}
	for _, test := range tests {
		err := check(strings.NewReader(test.input))
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
