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
	// Programs have no ears and no tongue. In lower case only: Heard may be a name.
	{regexp.MustCompile(`\bknock(s|ed|ing)?\b`), "keepalive"},
	{regexp.MustCompile(`\b(hear|hears|heard|hearing)\b`), "receives, or is told of"},
	{regexp.MustCompile(`\b(speak|speaks|speaking|spoke|spoken)\b`), "sends, uses, or is about"},
	{regexp.MustCompile(`(?i)\bwho listens\b`), "the receiver"},
	{regexp.MustCompile(`(?i)\bneeds not\b`), "need not"},
	{regexp.MustCompile(`^//\s+\w+ answers\b`), "returns"}, // the first words about a function
	{regexp.MustCompile(`\band answers (the|what|those)\b`), "returns"},
}

// checkWords looks through the comments of a file.
func (c *checker) checkWords(f *parsedFile) {
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			c.checkText(f.name, f.line(comment.Pos()), comment.Text)
		}
	}
}

// checkProse looks through a document.
func (c *checker) checkProse(name string, text []byte) {
	line := 0
	for each := range strings.Lines(string(text)) {
		line++
		c.checkText(name, line, each)
	}
}

// checkText looks for plain words in a text that begins in a line of a file.
func (c *checker) checkText(name string, line int, text string) {
	if strings.HasPrefix(name, "internal/tidy/") {
		return // which has to name them
	}
	for _, plain := range plainWords {
		if found := plain.word.FindString(text); found != "" {
			c.report(name, line, "%q is not a word of the field: say %q", found, plain.instead)
		}
	}
}
