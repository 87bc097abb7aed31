package main

import "fmt"

// A claim is a ratio that a paper has published, which stands beside the contestant's.
type claim struct {
	What    string  `json:"what"`
	Ratio   float64 `json:"ratio"`
	Differs string  `json:"differs"` // between the paper's experiment and ours
}

// claimLines is the table of what was published beside what was measured.
func (r *report) claimLines() [][]string {
	lines := [][]string{{"X-RDMA", "published", "measured", "measured/published", "what differs"}}
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Claim == nil {
			continue
		}
		measured, against := "not measured", ""
		if row.Ratio != nil {
			measured, against = fmt.Sprintf("%.2f", *row.Ratio), fmt.Sprintf("%.2f", *row.Ratio/row.Claim.Ratio)
		}
		lines = append(lines, []string{row.Claim.What, fmt.Sprintf("%.2f", row.Claim.Ratio), measured, against, row.Claim.Differs})
	}
	return lines
}
