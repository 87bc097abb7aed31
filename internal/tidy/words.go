package tidy

import (
	"regexp"
	"strings"
)

// plainWords are words of our own making, or used in a sense of our own, with what
// the field says instead. Each has no other use in this tree, so that a match is
// always a mistake; the words of the field that have several meanings are left to
// reviewers.
var plainWords = []struct {
	word    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)how-manieth`), "the ordinal of"},
	{regexp.MustCompile(`(?i)\bbreathe`), "yield"},
	{regexp.MustCompile(`(?i)\bknocks\b`), "keepalive"},
	{regexp.MustCompile(`(?i)\bwho listens\b`), "the receiver"},
	{regexp.MustCompile(`(?i)\bneeds not\b`), "need not"},
	{regexp.MustCompile(`^//\s+\w+ answers\b`), "returns"}, // the first words about a function
	{regexp.MustCompile(`\band answers (the|what|those)\b`), "returns"},
}

// checkWords looks through the comments of a file.
func (c *checker) checkWords(f *parsedFile) {
	if strings.HasPrefix(f.name, "internal/tidy/") {
		return
	}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			for _, plain := range plainWords {
				if found := plain.word.FindString(comment.Text); found != "" {
					c.report(f.name, f.line(comment.Pos()), "%q is not a word of the field: say %q", found, plain.instead)
				}
			}
		}
	}
}
