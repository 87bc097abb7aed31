package transport

import "testing"

// Records of paths exist once they are used, and reading makes none.
func TestPathTable(t *testing.T) {
	table := newPathTable(10)
	if table.len() != 10 || table.look(9).Sent != 0 || table.blocks[9/pathsPerBlock] != nil {
		t.Errorf("a new table: %+v", table)
	}
	table.record(9).Sent = 7
	if table.look(9).Sent != 7 || table.look(8).Sent != 0 || table.look(0) != &unusedPath {
		t.Errorf("after the use of path 9: %+v", table)
	}
	if unusedPath != (mpPath{}) {
		t.Error("somebody has written to the record of unused paths")
	}
}
