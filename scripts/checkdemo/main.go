// Command checkdemo reads what `braid demo --json` printed from standard input
// and fails unless it is one object that tells of a demonstration that worked:
// everything verified, several paths, one of them cut and restored.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// minPaths is how many paths the demonstration promises.
const minPaths = 4

// errNotOneObject is returned for input that is not exactly one JSON object.
var errNotOneObject = errors.New("the output is not one JSON object")

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "checkdemo:", err)
		os.Exit(1)
	}
}

// check reads one object and reports the first promise that it breaks.
func check(r io.Reader) error {
	input, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(input, &object); err != nil {
		return fmt.Errorf("%w: %w", errNotOneObject, err)
	}
	for _, key := range []string{"schema", "verified", "paths", "bytes", "goodput_gbps", "cut", "restored"} {
		if value, present := object[key]; !present || string(value) == "null" {
			return fmt.Errorf("key %q is missing", key)
		}
	}
	var verified bool
	if err := json.Unmarshal(object["verified"], &verified); err != nil || !verified {
		return fmt.Errorf("verified is %s, not true", object["verified"])
	}
	for _, key := range []string{"bytes", "goodput_gbps"} {
		var value float64
		if err := json.Unmarshal(object[key], &value); err != nil || value <= 0 {
			return fmt.Errorf("%s is %s, not a positive number", key, object[key])
		}
	}
	return checkPaths(object["paths"])
}

// checkPaths accepts the number of paths or a list with an entry for each.
func checkPaths(value json.RawMessage) error {
	var count int
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err == nil {
		count = len(list)
	} else if err := json.Unmarshal(value, &count); err != nil {
		return fmt.Errorf("paths is %s, neither a number nor a list", value)
	}
	if count < minPaths {
		return fmt.Errorf("the demonstration used %d paths, not at least %d", count, minPaths)
	}
	return nil
}
