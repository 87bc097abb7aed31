package operate

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// plain replaces control characters in the strings of a JSON text, but for ends of lines and tabs: what programs say is shown on a terminal,
// which obeys them, and root looks at the programs of others.
func plain(text []byte) []byte {
	shown := make([]byte, 0, len(text))
	for len(text) > 0 {
		n, control := first(text)
		if control {
			shown = append(shown, `\ufffd`...)
		} else {
			shown = append(shown, text[:n]...)
		}
		text = text[n:]
	}
	return shown
}

// first is the length of the first character of a JSON text, and whether it stands for a control character. Those below a space do so only when escaped.
func first(text []byte) (length int, control bool) {
	if text[0] != '\\' || len(text) == 1 {
		r, n := utf8.DecodeRune(text)
		return n, r > ' ' && unicode.IsControl(r)
	}
	switch text[1] {
	case 'b', 'f', 'r':
		return 2, true
	case 'u':
		if len(text) >= 6 {
			r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
			return 6, err == nil && r != '\n' && r != '\t' && unicode.IsControl(rune(r))
		}
	}
	return 2, false
}
