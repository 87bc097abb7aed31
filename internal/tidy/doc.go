// Package tidy checks the shape of the source tree: who may import whom, what
// the pure packages may not touch, and how long a file or function may grow,
// and which words comments and documents do without.
//
// # The flow
//
//	Check(tree) ──> every Go file is parsed ──> its room is looked up in law
//	            ──> imports, purity, style and words are checked ──> []Violation
//
// A room is a top-level directory of the module together with everything below
// it; a package below internal that is more than a leaf is a room of its own, and
// so are the pure packages below cm. The law is a Go map in law.go, so
// changing the architecture is a change that a reviewer sees. The package's own
// test runs Check over the repository, which makes a forbidden import fail
// `go test ./...` as surely as a type error would.
//
// Files are parsed, never built: a file behind a build tag obeys the law too.
// Test files may import what they like, since a test of a lower room is free to
// drive it with a higher one.
package tidy
