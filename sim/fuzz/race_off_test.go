//go:build !race

package fuzz

// raceEnabled: every access to memory is many times slower.
const raceEnabled = false
