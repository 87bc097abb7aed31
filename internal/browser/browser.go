// Package browser shows HTML pages to a real browser and returns what their
// reader would see, for tests.
//
//	Look(page, widths) ──> Chromium, without a window ──> a View for each width
//
// The page is loaded in frames of the given widths, side by side in one document,
// so that the browser starts once. A script in that document (look.html) measures
// them.
package browser

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrMissing means that there is no browser to look with, or none that runs here.
var ErrMissing = errors.New("chromium is missing (Debian: apt-get install chromium)")

// patience is what the browser may take on a busy machine.
const patience = 3 * time.Minute

// A View is what a page looks like at some width.
type View struct {
	Width int
	// Content is how wide the page is: more than Width if the reader must scroll
	// sideways. Wide lists what sticks out.
	Content int
	Wide    []string
	// Pictures counts images and drawings; Broken lists those that do not show.
	Pictures int
	Broken   []string
	// Text is all that can be read, folded parts included, by lines. What is set as
	// code is left out, for it may hold anything.
	Text string
}

//go:embed look.html
var look string

// Look loads a page, which may load nothing else, at each of the widths. Its files
// go to dir, which the caller removes.
func Look(ctx context.Context, dir string, page []byte, widths ...int) ([]View, error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return nil, ErrMissing
	}
	wanted, err := json.Marshal(widths)
	if err != nil {
		return nil, err
	}
	frames := filepath.Join(dir, "look.html")
	if err := os.WriteFile(frames, []byte(strings.Replace(look, "[]", string(wanted), 1)), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "page.html"), page, 0o600); err != nil {
		return nil, err
	}
	dom, err := run(ctx, program, filepath.Join(dir, "profile"), "file://"+frames)
	if err != nil {
		return nil, err
	}
	return parse(dom)
}

// run returns the document that the browser has made of what is at an address.
func run(ctx context.Context, program, profile, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program,
		"--headless", "--disable-gpu", "--disable-extensions", "--no-first-run", "--disable-background-networking",
		"--disable-dev-shm-usage",        // which is small in containers
		"--no-sandbox",                   // which root cannot have; the page is our own
		"--allow-file-access-from-files", // to look into the frames
		"--user-data-dir="+profile, "--dump-dom", address)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%w, or does not run: %w: %s", ErrMissing, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// parse takes the views out of the document, where look.html has written them.
func parse(dom []byte) ([]View, error) {
	_, rest, found := bytes.Cut(dom, []byte(`<pre id="views">`))
	text, _, ended := bytes.Cut(rest, []byte("</pre>"))
	if !found || !ended {
		return nil, fmt.Errorf("browser: nothing was measured: %.300s", dom)
	}
	var views []View
	if err := json.Unmarshal([]byte(html.UnescapeString(string(text))), &views); err != nil {
		return nil, fmt.Errorf("browser: %w", err)
	}
	return views, nil
}
