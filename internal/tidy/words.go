package tidy

import "strings"

// plainWords are words of our own making, or used in a sense of our own, with what
// the field says instead. Each has no other use in this tree, so that a match is
// always a mistake; the words of the field that have several meanings are left to
// reviewers.
var plainWords = []struct{ word, instead string }{
	{"how-manieth", "the ordinal of"},
	{"breathe", "yield"},
	{"knocks", "keepalive"},
	{"who listens", "the receiver"},
	{"needs not", "need not"},
}

// wordsLater are the rooms that still have such words.
var wordsLater = map[string]bool{"transport": true, "udp": true, "verbs": true}

// checkWords looks through the comments of a file.
func (c *checker) checkWords(f *parsedFile) {
	if wordsLater[f.room] || strings.HasPrefix(f.name, "internal/tidy/") {
		return
	}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			text := strings.ToLower(comment.Text)
			for _, plain := range plainWords {
				if strings.Contains(text, plain.word) {
					c.report(f.name, f.line(comment.Pos()), "%q is not a word of the field: say %q", plain.word, plain.instead)
				}
			}
		}
	}
}
