package table

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	for _, test := range []struct {
		name                string
		published, measured float64
		tolerance           Tolerance
		want                Verdict
	}{
		{"inside the band", 100, 109, Relative(0.1), Within},
		{"on the upper edge", 1, 1.1, Relative(0.1), Within},
		{"on the lower edge", 1, 0.9, Relative(0.1), Within},
		{"above the band", 100, 111, Relative(0.1), Outside},
		{"below the band", 100, 89, Relative(0.1), Outside},
		{"negative numbers", -10, -10.5, Relative(0.1), Within},
		{"negative numbers, outside", -10, -12, Relative(0.1), Outside},
		{"lower bound met", 34.78, 30, AtLeast(30), Within},
		{"lower bound missed", 34.78, 29.9, AtLeast(30), Outside},
		{"upper bound met", 1, 1, AtMost(1), Within},
		{"upper bound missed", 1, 1.01, AtMost(1), Outside},
		{"in the range", 15, 17.7, Between(6, 17.7), Within},
		{"out of the range", 15, 17.8, Between(6, 17.7), Outside},
		{"nothing published, relative", NoNumber(), 5, Relative(0.1), Unpublished},
		{"nothing published, none stated", NoNumber(), 5, Tolerance{}, Unpublished},
		{"nothing published, bound met", NoNumber(), 5, AtMost(6), Within},
		{"nothing published, bound missed", NoNumber(), 7, AtMost(6), Outside},
		{"nothing measured", 5, NoNumber(), Relative(0.1), Unmeasured},
		{"no tolerance", 5, 5, Tolerance{}, Unjudged},
		{"published zero", 0, 0, Relative(0.1), Within},
	} {
		row := Row{Published: test.published, Measured: test.measured, Tolerance: test.tolerance}
		if got := row.Verdict(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestRatio(t *testing.T) {
	if ratio, ok := (Row{Published: 4, Measured: 5}).Ratio(); !ok || ratio != 1.25 {
		t.Errorf("5 to 4 is %v, %v", ratio, ok)
	}
	for _, row := range []Row{{Published: 0, Measured: 5}, {Published: NoNumber(), Measured: 5}, {Published: 5, Measured: NoNumber()}} {
		if ratio, ok := row.Ratio(); ok {
			t.Errorf("%v has the ratio %v", row, ratio)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct {
		published, measured               float64
		wantPublished, wantMeasured, want string
	}{
		{150.68, 149.934, "150.68", "149.93", "0.995"},
		{5324, 5102.4, "5324", "5102", "0.958"},
		{5, 4.8712, "5", "4.871", "0.974"},
		{0.996, 0.9971234, "0.996", "0.9971", "1.001"},
		{17.5, 17, "17.5", "17.0", "0.971"},
		{40, 40, "40", "40", "1.000"},
		{1, 250.04, "1", "250", "250"},
		{100, 0.0501, "100", "0.0501", "0.000501"},
		{0.30000000000000004, 1e-7, "0.3", "1.000e-07", "3.33e-07"},
		{NoNumber(), 12345678, none, "12345678", none},
		{3, NoNumber(), "3", none, none},
		{2, 0, "2", "0", "0.000"},
		{-4, -3.9996, "-4", "-4", "1.000"},
	} {
		row := Row{Published: test.published, Measured: test.measured}
		cells := row.cells()
		if cells[3] != test.wantPublished || cells[4] != test.wantMeasured || cells[5] != test.want {
			t.Errorf("%v, %v: %q, want %q", test.published, test.measured, cells[3:6],
				[]string{test.wantPublished, test.wantMeasured, test.want})
		}
	}
}

func TestToleranceText(t *testing.T) {
	for want, tolerance := range map[string]Tolerance{
		"": {}, "±10 %": Relative(0.1), "±3.94 %": Relative(-0.0394), "≥ 30": AtLeast(30), "≤ 0.5": AtMost(0.5), "6 … 17.7": Between(6, 17.7),
	} {
		if got := tolerance.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func sample() Table {
	return Table{
		{Figure: "MP-RDMA 12a", Quantity: "aggregate throughput", Unit: "Gb/s", Published: 150.68, Measured: 149.9, Tolerance: Relative(0.05)},
		{Figure: "MP-RDMA 11b", Quantity: "recovery", Unit: "µs", Published: NoNumber(), Measured: 2e6, Tolerance: AtMost(1e6), Note: "cut | restored,\n\"twice\""},
		{Figure: "<b>13</b>", Quantity: "FCT & more", Published: NoNumber(), Measured: 3},
	}
}

func TestText(t *testing.T) {
	want := strings.Join([]string{
		"figure       quantity              unit  published  measured  ratio  tolerance  verdict              note",
		"MP-RDMA 12a  aggregate throughput  Gb/s     150.68    149.90  0.995  ±5 %       within",
		"MP-RDMA 11b  recovery              µs            –   2000000      –  ≤ 1000000  outside              cut | restored, \"twice\"",
		"<b>13</b>    FCT & more                          –         3      –             no number published",
		"",
	}, "\n")
	if got := sample().Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := sample()[:1].Text(); strings.Contains(got, "note") {
		t.Errorf("a column without a cell is shown:\n%s", got)
	}
}

func TestMarkdown(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(sample().Markdown()), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines", len(lines))
	}
	for _, line := range lines {
		if got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); got != 10 {
			t.Errorf("%d pipes in %s", got, line)
		}
	}
	if !strings.Contains(lines[1], "-: |") {
		t.Errorf("no numbers to the right in %s", lines[1])
	}
}

func TestCSVKeepsEveryDigit(t *testing.T) {
	table := Table{{Figure: "a,b", Published: 2.0 / 3, Measured: 1.0 / 3, Note: "two\nlines"}}
	out, err := table.CSV()
	if err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got := records[1]
	if got[0] != "a,b" || got[3] != "0.6666666666666666" || got[4] != "0.3333333333333333" || got[8] != "two\nlines" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	out, err := sample().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SchemaVersion int `json:"schema_version"`
		Rows          []map[string]any
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.SchemaVersion != SchemaVersion || len(doc.Rows) != 3 {
		t.Fatalf("%s", out)
	}
	if doc.Rows[1]["published"] != nil || doc.Rows[1]["measured"] != 2e6 || doc.Rows[1]["verdict"] != "outside" {
		t.Errorf("%v", doc.Rows[1])
	}
	if empty, err := (Table{}).JSON(); err != nil || !strings.Contains(string(empty), `"rows": []`) {
		t.Errorf("an empty table is %s, %v", empty, err)
	}
}

func TestHTMLEscapes(t *testing.T) {
	out := string(sample().HTML())
	if strings.Contains(out, "<b>") || !strings.Contains(out, "FCT &amp; more") {
		t.Errorf("not escaped:\n%s", out)
	}
	if err := xml.Unmarshal([]byte(out), new(struct{})); err != nil {
		t.Errorf("not well formed: %v\n%s", err, out)
	}
	if !strings.Contains(out, `<tr class="outside">`) {
		t.Errorf("no verdict:\n%s", out)
	}
}

func TestCounts(t *testing.T) {
	table := sample()
	for _, v := range Verdicts() {
		want := map[Verdict]int{Within: 1, Outside: 1, Unpublished: 1}[v]
		if got := table.Count(v); got != want {
			t.Errorf("%d rows %v, want %d", got, v, want)
		}
	}
	if outside := table.Outside(); len(outside) != 1 || outside[0].Figure != "MP-RDMA 11b" {
		t.Errorf("outside: %v", outside)
	}
}
