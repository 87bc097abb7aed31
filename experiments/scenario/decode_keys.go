package scenario

import (
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// checkKeys refuses keys that stand twice and, unless any name will do, those
// that are no field.
func (d *decoder) checkKeys(n *yaml.Node, field string, fields []structField) {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := join(field, key.Value)
		switch {
		case key.Kind != yaml.ScalarNode:
			d.fail(key, Error{Field: field, Got: describe(key), Want: "the name of a field"})
		case seen[key.Value]:
			d.fail(key, Error{Field: name, Got: "the field a second time", Want: "it only once"})
		case fields != nil && !slices.Contains(names, key.Value):
			d.fail(key, Error{
				Field: name, Got: "an unknown field", Want: oneOf(names),
				Suggestion: similar(key.Value, names),
			})
		}
		seen[key.Value] = true
	}
}

// entry finds a key of a mapping.
func entry(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// text is the word that a key of a mapping holds; empty if there is none.
func text(mapping *yaml.Node, name string) string {
	if _, value := entry(mapping, name); value != nil {
		return resolved(value).Value
	}
	return ""
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// kebab writes a Go name as a scenario has it: HostsPerLeaf is hosts-per-leaf.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) {
			if i > 0 {
				b.WriteByte('-')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}
