package figure

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Write puts an outcome into dir: each plot as SVG, each table of data as CSV,
// and the rows of published against measured as CSV and Markdown.
func Write(dir string, o *Outcome) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range o.Plots {
		svg, err := p.Chart.SVG()
		if err != nil {
			return fmt.Errorf("plot %s: %w", p.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	for _, d := range o.Data {
		text, err := d.csv()
		if err != nil {
			return fmt.Errorf("data %s: %w", d.Name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, d.Name+".csv"), text, 0o644); err != nil {
			return err
		}
	}
	rows, err := o.Table.CSV()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "table.csv"), rows, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "table.md"), []byte(o.Table.Markdown()), 0o644)
}

// csv renders the data; a row that does not fit the columns is an error.
func (d *Data) csv() ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := d.Columns
	if d.Labels != nil {
		header = append([]string{"label"}, header...)
	}
	if err := w.Write(header); err != nil {
		return nil, err
	}
	for i, row := range d.Rows {
		if len(row) != len(d.Columns) {
			return nil, fmt.Errorf("row %d has %d values for %d columns", i, len(row), len(d.Columns))
		}
		record := make([]string, 0, len(header))
		if d.Labels != nil {
			record = append(record, d.Labels[i])
		}
		for _, v := range row {
			record = append(record, strconv.FormatFloat(v, 'g', -1, 64))
		}
		if err := w.Write(record); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
