package numbers

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Measured is the rows of figures, by their names.
type Measured map[string]*Run

// Run is how a figure was run, and what came out.
type Run struct {
	Quick bool  `json:"quick,omitempty"`
	Rows  []Row `json:"rows"`
}

// Row is a row of a figure's table.
type Row struct {
	Quantity  string   `json:"quantity"`
	Unit      string   `json:"unit,omitempty"`
	Published *float64 `json:"published,omitempty"`
	Value     float64  `json:"measured"`
	Tolerance string   `json:"tolerance,omitempty"`
	Verdict   string   `json:"verdict"`
}

// LoadMeasured reads what was recorded, which is JSON.
func LoadMeasured(text []byte) (Measured, error) {
	m := Measured{}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("numbers: %w", err)
	}
	return m, nil
}

// Add takes what `braid sim figure --json` has printed. A quick run does not replace a full one.
func (m Measured) Add(printed []byte) error {
	var report struct {
		Quick   bool
		Figures []struct {
			Name  string
			Table struct{ Rows []Row }
		}
	}
	if err := json.Unmarshal(printed, &report); err != nil {
		return err
	}
	for _, f := range report.Figures {
		if had := m[f.Name]; report.Quick && had != nil && !had.Quick {
			continue
		}
		m[f.Name] = &Run{Quick: report.Quick, Rows: f.Table.Rows}
	}
	return nil
}

// Find is the row of a figure; nil if the figure has not been run, or a quick run leaves the row out.
func (m Measured) Find(figure, quantity string) (run *Run, row *Row) {
	if run = m[figure]; run == nil {
		return nil, nil
	}
	if i := slices.IndexFunc(run.Rows, func(r Row) bool { return r.Quantity == quantity }); i >= 0 {
		return run, &run.Rows[i]
	}
	return run, nil
}
