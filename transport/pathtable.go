package transport

// pathTable holds the records of virtual paths. A connection may have many paths
// and use few of them, so records come in blocks, each made when the first path
// of it is used.
type pathTable struct {
	blocks []*pathBlock
	count  int
}

// pathsPerBlock is small because a short connection uses random paths.
const pathsPerBlock = 4

type pathBlock [pathsPerBlock]mpPath

// unusedPath stands for the record of every path that was not used yet; nobody
// writes to it.
var unusedPath mpPath

func newPathTable(count int) pathTable {
	return pathTable{make([]*pathBlock, (count+pathsPerBlock-1)/pathsPerBlock), count}
}

// len is the number of paths, used or not.
func (t *pathTable) len() int { return t.count }

// record returns the record of a path in order to change it.
func (t *pathTable) record(p Path) *mpPath {
	b := &t.blocks[p/pathsPerBlock]
	if *b == nil {
		*b = new(pathBlock)
	}
	return &(*b)[p%pathsPerBlock]
}

// look returns the record of a path in order to read it.
func (t *pathTable) look(p Path) *mpPath {
	if b := t.blocks[p/pathsPerBlock]; b != nil {
		return &b[p%pathsPerBlock]
	}
	return &unusedPath
}
