package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"
)

// drawing lists the elements that a picture may have. Whatever could run a
// script, hold foreign markup or load a resource is not among them; nor are title
// and desc, inside which a browser goes back to the rules of HTML.
var drawing = map[string]bool{
	"svg": true, "g": true, "defs": true, "style": true,
	"path": true, "rect": true, "circle": true, "ellipse": true, "line": true, "polyline": true, "polygon": true,
	"text": true, "tspan": true, "clipPath": true, "linearGradient": true, "radialGradient": true, "stop": true,
}

// inlineSVG checks a document and returns its root element, ready to stand in an
// HTML page.
func inlineSVG(svg []byte) (template.HTML, error) {
	if bytes.Contains(svg, []byte("<![CDATA[")) {
		return "", fmt.Errorf("%w: HTML has no CDATA sections", ErrPicture)
	}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	start, end := int64(-1), int64(-1)
	depth := 0
	inStyle := false
	for {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrPicture, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if depth == 0 {
				if start >= 0 || token.Name.Local != "svg" {
					return "", fmt.Errorf("%w: root element is %q", ErrPicture, token.Name.Local)
				}
				start = before
			}
			if inStyle {
				return "", fmt.Errorf("%w: element %q in a style sheet", ErrPicture, token.Name.Local)
			}
			if err := checkElement(token); err != nil {
				return "", err
			}
			inStyle = token.Name.Local == "style"
			depth++
		case xml.EndElement:
			inStyle = false
			depth--
			end = decoder.InputOffset()
		case xml.CharData:
			if inStyle && reachesOut(string(token)) {
				return "", fmt.Errorf("%w: its style sheet loads something", ErrPicture)
			}
		case xml.Comment, xml.ProcInst, xml.Directive:
			// A browser reads some of these differently inside HTML, so the only
			// place for them is before and after the element that is kept.
			if depth > 0 {
				return "", fmt.Errorf("%w: %T inside it", ErrPicture, token)
			}
		}
	}
	if start < 0 {
		return "", fmt.Errorf("%w: it has no element", ErrPicture)
	}
	// Every element and attribute has passed the check above.
	return template.HTML(svg[start:end]), nil
}

// checkElement refuses an element that is more than drawing.
func checkElement(e xml.StartElement) error {
	if !drawing[e.Name.Local] {
		return fmt.Errorf("%w: element %q", ErrPicture, e.Name.Local)
	}
	for _, a := range e.Attr {
		name := strings.ToLower(a.Name.Local)
		if strings.HasPrefix(name, "on") || name == "href" || name == "src" {
			return fmt.Errorf("%w: attribute %q of %q", ErrPicture, a.Name.Local, e.Name.Local)
		}
		if reachesOut(a.Value) {
			return fmt.Errorf("%w: attribute %q of %q refers to something", ErrPicture, a.Name.Local, e.Name.Local)
		}
	}
	return nil
}

// reachesOut tells whether a value can make a browser load something. References
// within the picture begin with a number sign.
func reachesOut(value string) bool {
	value = strings.ToLower(value)
	inside := strings.ReplaceAll(strings.ReplaceAll(value, " ", ""), "url(#", "")
	return strings.Contains(inside, "url(") || strings.Contains(inside, "@import") ||
		strings.Contains(inside, "javascript:") || strings.Contains(inside, `\`)
}
