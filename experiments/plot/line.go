package plot

// A Line chart draws series as lines: a sweep over a parameter, a time series (as
// steps, if its Style says so), a spread as a shaded band.
type Line struct {
	Title      string
	X, Y       Axis
	Series     []Series
	References []Reference
}

// SVG implements [Chart].
func (l Line) SVG() ([]byte, error) {
	few := true
	for _, s := range l.Series {
		few = few && len(s.Points) <= fewPoints
	}
	svg, err := xyChart{title: l.Title, x: l.X, y: l.Y, series: l.Series, references: l.References, markers: few}.svg()
	return svg, inChart(l.Title, err)
}

// xyChart is what line and distribution charts have in common.
type xyChart struct {
	title      string
	x, y       Axis
	series     []Series
	references []Reference
	markers    bool // whether series that leave it open get markers
}

func (c xyChart) svg() ([]byte, error) {
	if len(c.series) == 0 {
		return nil, ErrEmpty
	}
	var xs, ys extent
	for _, s := range c.series {
		if err := s.check(c.x, c.y); err != nil {
			return nil, err
		}
		s.include(&xs, &ys)
	}
	for _, r := range c.references {
		if err := r.check(c.x, c.y); err != nil {
			return nil, err
		}
		r.include(&xs, &ys)
	}
	x, err := c.x.settle(xs, horizontalTicks)
	if err != nil {
		return nil, err
	}
	y, err := c.y.settle(ys, verticalTicks)
	if err != nil {
		return nil, err
	}
	f := frame{title: c.title, x: x, y: y}
	f.marks = append(f.marks, grid{vertical: true})
	for i, s := range c.series {
		marks := s.resolve(i, c.markers)
		f.marks = append(f.marks, marks)
		f.legend = addEntry(f.legend, marks.entry())
	}
	f.addReferences(c.references)
	return f.svg(), nil
}
