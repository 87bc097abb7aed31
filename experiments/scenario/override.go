package scenario

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set changes fields: each assignment is a field and a value in YAML, such as
// "transports.mp.delta=16", "faults[0].loss=0.01" or "fabric.ecn=none". All are
// checked as the file was, together; if anything is wrong the scenario stays as
// it is.
func (s *Scenario) Set(assignments ...string) error {
	document := clone(s.document)
	for _, a := range assignments {
		if err := assign(document, a); err != nil {
			return Errors{err}
		}
	}
	changed, err := decode(s.file, document)
	if err != nil {
		return err
	}
	*s = *changed
	return nil
}

// With is a changed copy of the scenario, which stays as it is: see Set.
func (s *Scenario) With(assignments ...string) (*Scenario, error) {
	changed := *s
	if err := changed.Set(assignments...); err != nil {
		return nil, err
	}
	return &changed, nil
}

// clone copies a document, so that a refused change leaves no trace.
func clone(n *yaml.Node) *yaml.Node {
	copies := map[*yaml.Node]*yaml.Node{}
	var copyOf func(n *yaml.Node) *yaml.Node
	copyOf = func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return nil
		}
		if done, ok := copies[n]; ok {
			return done
		}
		c := *n
		copies[n] = &c
		c.Content = make([]*yaml.Node, len(n.Content))
		for i, child := range n.Content {
			c.Content[i] = copyOf(child)
		}
		c.Alias = copyOf(n.Alias)
		return &c
	}
	return copyOf(n)
}

// assign puts a value into the document.
func assign(document *yaml.Node, assignment string) *Error {
	field, value, found := strings.Cut(assignment, "=")
	field = strings.TrimSpace(field)
	if !found || field == "" {
		return &Error{File: "override", Got: strconv.Quote(assignment), Want: "field=value, such as seed=7"}
	}
	var parsed yaml.Node
	if err := yaml.Unmarshal([]byte(value), &parsed); err != nil {
		return &Error{File: "override", Field: field, Got: strconv.Quote(value), Want: "a value in YAML"}
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
	if len(parsed.Content) == 1 {
		node = parsed.Content[0]
	}
	forgetPlace(node)
	if after, ok := strings.CutPrefix(field, "transport."); ok {
		field = "transports." + defaultName + "." + after // the short form again
	}
	at := rootOf(document)
	for rest := field; ; {
		slot, after, err := step(at, rest)
		if err != "" {
			return &Error{File: "override", Field: field, Got: "no such place", Want: err}
		}
		if after == "" {
			*slot = node
			return nil
		}
		if (*slot).Kind == yaml.AliasNode {
			*slot = clone((*slot).Alias) // what else refers to it stays as it is
		}
		if (*slot).Kind == yaml.ScalarNode {
			// A word that stands for a mapping gives way to one.
			*slot = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		at, rest = *slot, after
	}
}

// step follows the first part of a field into a mapping or list and returns where
// its value stands and what remains of the field. A field that is not there yet is
// added to a mapping.
func step(at *yaml.Node, field string) (slot **yaml.Node, rest, wrong string) {
	if at.Kind == yaml.SequenceNode {
		return element(at, field)
	}
	// Names of links may have dots, so the longest key that fits counts.
	for i := 0; i+1 < len(at.Content); i += 2 {
		key := at.Content[i].Value
		if after, ok := strings.CutPrefix(field, key); ok && (after == "" || after[0] == '.' || after[0] == '[') {
			if slot == nil || len(after) < len(rest) {
				slot, rest = &at.Content[i+1], after
			}
		}
	}
	if slot != nil {
		return slot, strings.TrimPrefix(rest, "."), ""
	}
	key, after, _ := strings.Cut(field, ".")
	if strings.ContainsAny(key, "[]") {
		return nil, "", "a list that the scenario has"
	}
	at.Content = append(at.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key},
		&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"})
	return &at.Content[len(at.Content)-1], after, ""
}

// element finds an element of a list, written as [2] or as 2.
func element(at *yaml.Node, field string) (slot **yaml.Node, rest, wrong string) {
	var number string
	if inner, ok := strings.CutPrefix(field, "["); ok {
		number, rest, _ = strings.Cut(inner, "]")
		rest = strings.TrimPrefix(rest, ".")
	} else {
		number, rest, _ = strings.Cut(field, ".")
	}
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(at.Content) {
		return nil, "", "the number of an element below " + strconv.Itoa(len(at.Content))
	}
	return &at.Content[i], rest, ""
}

// forgetPlace lets errors say that the value came from an override.
func forgetPlace(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	for _, child := range n.Content {
		forgetPlace(child)
	}
}
