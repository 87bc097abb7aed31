// Package report makes one HTML page of all figures of the experiments.
//
// # The flow
//
//	Report{Figures: []Figure{…}} ──> Write
//	   ──> figures and their pictures are checked
//	   ──> texts are rendered from Markdown
//	   ──> the rows of all figures are joined into the table at the end
//	   ──> page.html is filled in, with everything inside it
//
// The page needs no network, no script and no other file: pictures are inline,
// and page.css is part of the page. It follows the reader's light or dark
// colour scheme and prints in black on white.
//
// In the section of a figure pictures come first, then its table, then what is
// written about it.
//
// Text is escaped by html/template, and Markdown loses what is HTML. Pictures are SVG documents that go into the
// page as they are; they are therefore parsed first, and one that could run a
// script or load something from elsewhere is refused.
package report
