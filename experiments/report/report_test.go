package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/braid-rdma/braid/experiments/plot"
	"github.com/braid-rdma/braid/experiments/table"
)

var output = flag.String("report", "", "write the sample report to this file, to look at it")

func sample(t *testing.T) Report {
	t.Helper()
	draw := func(c plot.Chart) []byte {
		svg, err := c.SVG()
		if err != nil {
			t.Fatal(err)
		}
		return svg
	}
	bars := plot.Bars{
		Title: "Aggregate throughput", Y: plot.Axis{Label: "throughput", Unit: "Gb/s"}, Groups: []string{"all hosts", "worst leaf"},
		Series: []plot.BarSeries{
			{Name: "MP-RDMA", Values: []float64{149.9, 71}, Published: []float64{150.68, plot.Missing()}},
			{Name: "DCQCN", Values: []float64{99.1, 30}, Published: []float64{102.46, plot.Missing()}},
		},
	}
	line := plot.Line{
		Title: "Goodput with lossy paths", X: plot.Axis{Label: "loss rate", Unit: "%"}, Y: plot.Axis{Label: "goodput", Unit: "Gb/s"},
		Series: []plot.Series{
			{Name: "MP-RDMA", Points: []plot.Point{{X: 0, Y: 38.1}, {X: 0.5, Y: 38}, {X: 5, Y: 37.8}, {X: 10, Y: 37.6}}},
			{Name: "DCQCN", Points: []plot.Point{{X: 0, Y: 38}, {X: 0.5, Y: 16}, {X: 5, Y: 10}, {X: 10, Y: 9}}},
		},
		References: []plot.Reference{{Name: "published", Kind: plot.AtPoint, X: 0.5, Y: 17.5}},
	}
	text := "Four paths of 40 Gb/s join two racks of the **testbed**; a connection sends from each host to its partner.\n\n" +
		"| | paper | here |\n| --- | --- | --- |\n| packets | not given | `1024 B` |\n"
	return Report{
		Title:   "Published results, measured again",
		Summary: "Each figure of the papers, run in the simulator with the transport that moves real packets.",
		Notice:  "This is a *quick* run.", Tag: "quick run",
		Facts: []Fact{{"seed", "1"}, {"scale", "quick"}, {"version", "v0.2.0"}},
		Figures: []Figure{
			{
				ID: "mp-rdma-12a", Number: "Figure 12a", Title: "Aggregate throughput", Paper: "MP-RDMA, NSDI 2018", Section: "section 5.1.2, figure 12a",
				Texts: []Text{
					{Heading: "What we do", Markdown: text},
					{Heading: "Result of the full run", Markdown: "The paper's switches have an unknown hash; ours is seeded.", Folded: true},
				},
				Pictures: []Picture{{SVG: draw(bars), Caption: "Diamonds are the paper's numbers."}},
				Table: table.Table{
					{Figure: "MP-RDMA 12a", Quantity: "aggregate throughput, MP-RDMA", Unit: "Gb/s", Published: 150.68, Measured: 149.9, Tolerance: table.Relative(0.05)},
					{Figure: "MP-RDMA 12a", Quantity: "aggregate throughput, DCQCN", Unit: "Gb/s", Published: 102.46, Measured: 85.1, Tolerance: table.Relative(0.1), Note: "depends on the hash: see the sensitivity plot"},
				},
				Facts: []Fact{{"seed", "1"}, {"events", "12.4 M"}, {"speed", "4.1 M events/s"}},
			},
			{
				ID: "mp-rdma-11a", Title: "Loss & <recovery>", Paper: "MP-RDMA, NSDI 2018", Section: "section 5.1.1, figure 11a",
				Texts: []Text{{Heading: "Bad", Markdown: "<script>alert(1)</script>"}}, Pictures: []Picture{{SVG: draw(line), Caption: line.Title}},
				Table: table.Table{{Figure: "MP-RDMA 11a", Quantity: "goodput at 10 % loss", Unit: "Gb/s", Published: table.NoNumber(), Measured: 37.6}},
			},
			{ID: "data-partition-7", Title: "Completion time", Paper: "Data Partition", Texts: []Text{{Heading: "What the paper did", Markdown: text}}},
		},
	}
}

func TestReport(t *testing.T) {
	page, err := sample(t).HTML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, want := range []string{
		`<a href="#mp-rdma-12a"><span class="place">Figure 12a</span>`, `id="mp-rdma-12a"`, `1 within`, `1 outside`, `1 no number published`,
		`Loss &amp; &lt;recovery&gt;`, `<svg xmlns=`, `<dt>seed</dt><dd>1</dd>`, `<summary>Result of the full run</summary>`,
		`<strong>testbed</strong>`, `<td><code>1024 B</code></td>`, `This is a <em>quick</em> run.`, `<span class="badge tag">quick run</span></figcaption>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := strings.Count(text, "aggregate throughput, DCQCN"); n != 2 {
		t.Errorf("a row stands %d times in the page, not at its figure and at the end", n)
	}
	for _, bad := range []string{"<script", "http://", "https://", "ZgotmplZ", " src="} {
		if strings.Contains(strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, ""), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if strings.Contains(text, "<figcaption>Goodput with lossy paths") {
		t.Error("a caption repeats the title of its picture")
	}
	if picture, row := strings.Index(text, "<svg"), strings.Index(text, "<table"); picture < 0 || row < picture {
		t.Error("a table stands above the pictures")
	}
	again, err := sample(t).HTML()
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("the same report gives another page, %v", err)
	}
	if *output != "" {
		if err := os.WriteFile(*output, page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadReports(t *testing.T) {
	picture := func(svg string) Report {
		return Report{Figures: []Figure{{ID: "a", Pictures: []Picture{{SVG: []byte(svg)}}}}}
	}
	for name, test := range map[string]struct {
		report Report
		want   error
	}{
		"no figures":          {Report{}, ErrEmpty},
		"no identifier":       {Report{Figures: []Figure{{}}}, ErrID},
		"odd identifier":      {Report{Figures: []Figure{{ID: "A b"}}}, ErrID},
		"equal identifiers":   {Report{Figures: []Figure{{ID: "a"}, {ID: "a"}}}, ErrID},
		"empty picture":       {picture(""), ErrPicture},
		"not XML":             {picture("<svg><path></svg>"), ErrPicture},
		"cut short":           {picture("<svg><path/>"), ErrPicture},
		"another root":        {picture("<html></html>"), ErrPicture},
		"two roots":           {picture("<svg></svg><svg></svg>"), ErrPicture},
		"script":              {picture("<svg><script>x</script></svg>"), ErrPicture},
		"foreign object":      {picture("<svg><foreignObject/></svg>"), ErrPicture},
		"event handler":       {picture(`<svg onload="x()"></svg>`), ErrPicture},
		"link":                {picture(`<svg><g href="x"/></svg>`), ErrPicture},
		"fill from elsewhere": {picture(`<svg><path fill="url( http://x)"/></svg>`), ErrPicture},
		"style from there":    {picture(`<svg><style>@import "x";</style></svg>`), ErrPicture},
		"escaped style":       {picture(`<svg><style>\75rl(x)</style></svg>`), ErrPicture},
		"style in style":      {picture(`<svg><style>a<g/>@import "x";</style></svg>`), ErrPicture},
		"CDATA":               {picture(`<svg><g><![CDATA[><script>]]></g></svg>`), ErrPicture},
		"comment":             {picture(`<svg><!-- --!><script> --></svg>`), ErrPicture},
	} {
		if _, err := test.report.HTML(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestPictureKeepsItsElementOnly(t *testing.T) {
	svg := `<?xml version="1.0"?>` + "\n<!-- made by hand -->\n" + `<svg viewBox="0 0 1 1"><path fill="url(#a)"/></svg>` + "\n"
	got, err := inlineSVG([]byte(svg))
	if want := `<svg viewBox="0 0 1 1"><path fill="url(#a)"/></svg>`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
