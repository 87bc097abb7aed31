package scenario

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/sim/topology"
	"github.com/braid-rdma/braid/sim/workload"
)

// TestReference makes docs/SCENARIOS.md of the types, their doc comments and their defaults; -rewrite writes it anew.
func TestReference(t *testing.T) {
	r := &reference{docs: docs(t, ".", "../../sim", "../../sim/topology", "../../sim/workload", "../../transport")}
	r.print(referenceHead)
	r.table("", reflect.ValueOf(defaults()).Elem(), false)
	r.topologies()
	fabric := defaultFabric()
	r.section("fabric", "Fabric", "fabric.", &fabric)
	r.print("An element of `fabric.switches` has the fields from `buffer` to `shared-hash`, and begins with what `fabric` says.\n\n")
	r.section("fabric.links", "LinkOverride", "fabric.links.NAME.", &LinkOverride{})
	r.transports()
	r.workloads()
	r.section("faults", "Fault", "faults[].", &Fault{})
	r.section("receivers", "Receiver", "receivers[].", &Receiver{})
	r.section("measure", "Measure", "measure.", &Measure{})
	compareFile(t, filepath.Join("..", "..", "docs", "SCENARIOS.md"), r.out.String())
}

const referenceHead = "# The fields of a scenario\n" +
	"\n" +
	"This page is made from the Go types by `go test ./experiments/scenario -run TestReference -rewrite`, so it has every field. Names are those of Go in\n" +
	"kebab-case; `NAME` is a name of yours, `[]` an element of a list. Where there is no default, nothing is what holds. `braid sim list --fields FILE` shows the\n" +
	"fields of a scenario with their values, and each of them can be changed by `--set`.\n" +
	"\n" +
	"Sizes are written as `9MB` (millions), `32KiB` (powers of 1024) or `1000`, rates as `40Gbps`, times as `500ns`, `2us`, `10ms` or `1s`.\n" +
	"\n" +
	"## The whole\n" + "\n"

// A reference is the page while it is written.
type reference struct {
	out  strings.Builder
	docs map[string]string // of types and fields, by package.Type.Field
	// common is a struct whose fields the page has already.
	common reflect.Type
}

func (r *reference) topologies() {
	r.print("## topology\n\n%s A preset is one of the kinds below with its fields filled in.\n\n| preset | kind | what it is |\n| --- | --- | --- |\n", r.docs["scenario.Topology"])
	kindOf := map[reflect.Type]string{}
	for _, k := range builders() {
		kindOf[reflect.TypeOf(k.config)] = k.name // presets stand first, so that the kind's own name remains
	}
	for _, p := range topology.Presets() {
		r.print("| `%s` | `%s` | %s |\n", p.Name, kindOf[reflect.TypeOf(p.Builder)], p.About)
	}
	r.print("\n")
	for _, k := range builders()[len(topology.Presets()):] {
		r.kind("topology", k.name, "topology.", k.config)
	}
}

func (r *reference) workloads() {
	r.section("workload", "Workload", "workload[].", &Workload{})
	r.print("All kinds have:\n\n")
	r.table("workload[].", reflect.ValueOf(&workload.Profile{}).Elem(), true)
	r.common = reflect.TypeFor[workload.Profile]()
	for _, k := range generators {
		r.kind("workload", k.name, "workload[].", k.config)
	}
}

func (r *reference) transports() {
	r.section("transports", "Transport", "transports.NAME.", &Transport{AckTimeout: defaultAckTimeout, Retry: defaultRetry})
	r.print("`transport: {...}` is short for a single one, and without any there is one of kind mp.\n\n")
	paper, wire := mpOf(presetPaper, presets[presetPaper]()), mpOf("wire", presets["wire"]())
	r.kind("transports", kindMP, "transports.NAME.", *paper)
	r.print("The preset wire differs in:\n\n| field | paper | wire |\n| --- | --- | --- |\n")
	others := fieldsOf(reflect.ValueOf(wire).Elem())
	for i, f := range fieldsOf(reflect.ValueOf(paper).Elem()) {
		a, b := valueText(f.value, f.form.unit), valueText(others[i].value, f.form.unit)
		if a != b && f.name != "preset" {
			r.print("| `%s` | %s | %s |\n", f.name, code(a), code(b))
		}
	}
	r.print("\n")
	r.kind("transports", kindRC, "transports.NAME.", *defaultRC())
}

// kind is the part about the fields that one kind has.
func (r *reference) kind(section, kind, prefix string, config any) {
	v := reflect.New(reflect.TypeOf(config)).Elem()
	v.Set(reflect.ValueOf(config))
	r.print("### %s of kind %s\n\n", section, kind)
	if about := r.docs[v.Type().String()]; about != "" {
		r.print("%s\n\n", about)
	}
	r.table(prefix, v, true)
}

func (r *reference) section(title, typeName, prefix string, of any) {
	r.print("## %s\n\n%s\n\n", title, r.docs["scenario."+typeName])
	r.table(prefix, reflect.ValueOf(of).Elem(), true)
}

func (r *reference) print(format string, args ...any) { fmt.Fprintf(&r.out, format, args...) }

// table has a row for each field of a struct and, if deep, for those of the structs in it.
func (r *reference) table(prefix string, v reflect.Value, deep bool) {
	r.print("| field | holds | default | meaning |\n| --- | --- | --- | --- |\n")
	r.rows(prefix, v, deep)
	r.print("\n")
}

func (r *reference) rows(prefix string, v reflect.Value, deep bool) {
	for _, f := range fieldsOf(v) {
		if f.of == r.common {
			continue
		}
		holds, value, inner, suffix := describeField(f)
		r.print("| `%s%s` | %s | %s | %s |\n", prefix, f.name, cell(brief.Replace(holds)), code(value), cell(r.meaning(f)))
		if deep && inner.IsValid() {
			r.rows(prefix+f.name+suffix, inner, deep)
		}
	}
}

// brief says what the head of the page explains.
var brief = strings.NewReplacer(
	notations[unitTime].want, "a time", notations[unitRate].want, "a rate", notations[unitSize].want, "a size",
	"a whole number, not negative", "a whole number",
)

// describeField says what a field holds and its default; inner is the struct whose fields follow, if there is one.
func describeField(f structField) (holds, value string, inner reflect.Value, suffix string) {
	v, t := f.value, f.value.Type()
	if t.Kind() == reflect.Pointer && t != distributionType {
		t = t.Elem()
		v = reflect.Zero(t)
	}
	switch {
	case isScalar(t):
		if f.value.Kind() == t.Kind() {
			value = valueText(v, f.form.unit)
		}
		return wanted(t, f.form), value, inner, ""
	case t.Kind() == reflect.Map:
		return "a mapping by name", "", inner, ""
	case t.Kind() == reflect.Struct:
		holds = "a mapping"
		if s, ok := f.value.Addr().Interface().(shorthand); ok {
			holds, value = s.words(), s.word()
		}
		return holds, value, beginning(t), "."
	}
	element := t.Elem()
	if element.Kind() == reflect.Pointer && element != distributionType {
		element = element.Elem()
	}
	switch {
	case isScalar(element):
		return "a list; each " + wanted(element, f.form), listText(v, f.form.unit), inner, ""
	case element == pairType || element.Kind() == reflect.Array:
		return "a list; each two numbers such as [0, 5]", listText(v, f.form.unit), inner, ""
	}
	return "a list of mappings", "", beginning(element), "[]."
}

// beginning is a struct as its mapping finds it.
func beginning(t reflect.Type) reflect.Value {
	v := reflect.New(t)
	switch s := v.Interface().(type) {
	case *ECN:
		s.choose(nil, nil, "")
	case *PFC:
		s.choose(nil, nil, "")
	}
	return v.Elem()
}

// borrowed are types whose fields are documented where the transport declares them.
var borrowed = map[string]string{"scenario.MP": "transport.MPOptions", "scenario.DCQCN": "transport.DCQCNParameters"}

// meaning is the doc comment of a field, with names as a scenario has them.
func (r *reference) meaning(f structField) string {
	name := f.goName
	doc := r.docs[f.of.String()+"."+name]
	if from := borrowed[f.of.String()]; doc == "" && from != "" {
		if name == "Probe" {
			name = "ProbeProbability"
		}
		doc = r.docs[from+"."+name]
	}
	if _, named := enumerations[f.value.Type()]; doc == "" && (named || f.value.Kind() == reflect.Struct) {
		doc = r.docs[f.value.Type().String()]
	}
	doc = replaceWord(doc, name, f.name, "^")
	for i := range f.of.NumField() {
		switch other := f.of.Field(i).Name; {
		case !f.of.Field(i).IsExported():
		case other == strings.ToUpper(other): // XOFF is a frame too
		case other == strings.ToUpper(other[:1])+strings.ToLower(other[1:]):
			doc = replaceWord(doc, other, kebab(other), "[^.] ") // not the first word of a sentence
		default:
			doc = replaceWord(doc, other, kebab(other), "")
		}
	}
	return goUnits.ReplaceAllString(doc, "")
}

func replaceWord(text, word, by, after string) string {
	return regexp.MustCompile(`(`+after+`)\b`+word+`\b`).ReplaceAllString(text, "${1}`"+by+"`")
}

// goUnits are units of Go's numbers, which scenarios write.
var goUnits = regexp.MustCompile(`^(picoseconds|bits per second)(: |, |; | |$)|, (picoseconds|bits per second)`)

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// docs reads the comments of the struct types of some packages, and of their fields.
func docs(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if d, ok := d.(*ast.GenDecl); ok {
					addDocs(found, parsed.Name.Name, d)
				}
			}
		}
	}
	return found
}

func addDocs(found map[string]string, packageName string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		spec, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		name := packageName + "." + spec.Name.Name
		found[name] = oneLine(d.Doc)
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, n := range field.Names {
					found[name+"."+n.Name] = oneLine(field.Doc) + oneLine(field.Comment)
				}
			}
		}
	}
}

func oneLine(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
