package table

import (
	"html/template"
	"strings"
)

// HTML renders the table as a table element without styles of its own. Classes
// say what a cell is, for a page to style: the table is "comparison", a cell has
// the name of its column, numbers are "number" too, and each row has the class of
// its verdict, "within", "outside", "unpublished", "unmeasured" or "unjudged".
func (t Table) HTML() template.HTML {
	var out strings.Builder
	shown := t.shown()
	out.WriteString("<table class=\"comparison\">\n<thead><tr>")
	for i, heading := range headings {
		if shown[i] || len(t) == 0 {
			writeCell(&out, "th", i, heading)
		}
	}
	out.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t {
		out.WriteString(`<tr class="` + row.Verdict().Class() + `">`)
		for i, cell := range row.cells() {
			if shown[i] {
				writeCell(&out, "td", i, cell)
			}
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</tbody>\n</table>\n")
	// Every cell went through writeCell, which escapes it.
	return template.HTML(out.String())
}

func writeCell(out *strings.Builder, element string, column int, text string) {
	class := headings[column]
	if numeric[column] {
		class += " number"
	}
	out.WriteString("<" + element + ` class="` + class + `">` + template.HTMLEscapeString(text) + "</" + element + ">")
}

// Class returns the verdict as the name of a class in HTML.
func (v Verdict) Class() string {
	switch v {
	case Within:
		return "within"
	case Outside:
		return "outside"
	case Unpublished:
		return "unpublished"
	case Unmeasured:
		return "unmeasured"
	default:
		return "unjudged"
	}
}
