// Package report makes one HTML page of all figures of the experiments.
//
// # The flow
//
//	Report{Figures: []Figure{…}} ──> Write
//	   ──> figures and their pictures are checked
//	   ──> the rows of all figures are joined into the table at the top
//	   ──> page.html is filled in, with everything inside it
//
// The page needs no network, no script and no other file: pictures are inline,
// and page.css is part of the page. It follows the reader's light or dark
// colour scheme and prints in black on white.
//
// Text is escaped by html/template. Pictures are SVG documents that go into the
// page as they are; they are therefore parsed first, and one that could run a
// script or load something from elsewhere is refused.
package report
