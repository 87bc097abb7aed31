//go:build !linux

// Command guestinit is the first process of a virtual machine with Linux, and
// nothing elsewhere.
package main

func main() {}
