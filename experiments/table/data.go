package table

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
)

// SchemaVersion is the version of the JSON document. It grows when a field
// changes its meaning or goes away, not when one is added.
const SchemaVersion = 1

// jsonTable is the JSON document.
type jsonTable struct {
	SchemaVersion int       `json:"schema_version"`
	Rows          []jsonRow `json:"rows"`
}

// jsonRow is a row in JSON, which has no NaN: a number that does not exist is
// null.
type jsonRow struct {
	Figure    string   `json:"figure"`
	Quantity  string   `json:"quantity"`
	Unit      string   `json:"unit"`
	Published *float64 `json:"published"`
	Measured  *float64 `json:"measured"`
	Ratio     *float64 `json:"ratio"`
	Tolerance string   `json:"tolerance"`
	Verdict   string   `json:"verdict"`
	Note      string   `json:"note"`
}

// JSON renders the table for programs, with every digit.
func (t Table) JSON() ([]byte, error) {
	doc := jsonTable{SchemaVersion: SchemaVersion, Rows: []jsonRow{}}
	for _, row := range t {
		out := jsonRow{
			Figure: row.Figure, Quantity: row.Quantity, Unit: row.Unit,
			Published: pointer(row.Published), Measured: pointer(row.Measured),
			Tolerance: row.Tolerance.String(), Verdict: row.Verdict().String(), Note: row.Note,
		}
		if ratio, ok := row.Ratio(); ok {
			out.Ratio = &ratio
		}
		doc.Rows = append(doc.Rows, out)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(doc); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return out.Bytes(), nil
}

func pointer(v float64) *float64 {
	if !exists(v) {
		return nil
	}
	return &v
}

// CSV renders the table for spreadsheets, with every digit; a number that does
// not exist is an empty field.
func (t Table) CSV() ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	// Errors of the writer stay with it until the end.
	_ = w.Write(headings)
	for _, row := range t {
		ratio := ""
		if v, ok := row.Ratio(); ok {
			ratio = exact(v)
		}
		_ = w.Write([]string{
			row.Figure, row.Quantity, row.Unit, exact(row.Published), exact(row.Measured), ratio,
			row.Tolerance.String(), row.Verdict().String(), row.Note,
		})
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return out.Bytes(), nil
}

func exact(v float64) string {
	if !exists(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
