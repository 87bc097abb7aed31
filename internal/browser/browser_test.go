package browser

import (
	"errors"
	"strings"
	"testing"
)

func TestLookSeesWhatIsWrong(t *testing.T) {
	page := `<!DOCTYPE html><meta charset="utf-8"><style>body { margin: 0 } p { width: 500px }</style>
<p id="long">A &lt;long&gt; line<pre style="overflow-x: auto; width: 100px">` + strings.Repeat("x", 200) + `</pre>
<details><summary>More</summary>folded</details><code>**</code>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAAC" alt=""><img src="nowhere.png" alt="lost"><svg width="10" height="10"></svg>`
	views, err := Look(t.Context(), t.TempDir(), []byte(page), 1000, 300)
	if errors.Is(err, ErrMissing) {
		t.Skipf("SKIPPED: TestLookSeesWhatIsWrong: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(views) != 2 {
		t.Fatalf("%d views, want 2", len(views))
	}
	wide, narrow := views[0], views[1]
	if wide.Width != 1000 || wide.Content != 1000 || len(wide.Wide) != 0 {
		t.Errorf("at 1000: %+v, want a page that fits", wide)
	}
	if narrow.Width != 300 || narrow.Content != 500 || len(narrow.Wide) != 1 || !strings.HasPrefix(narrow.Wide[0], "P#long") {
		t.Errorf("at 300: %+v, want a paragraph that sticks out by 200", narrow)
	}
	if wide.Pictures != 3 || len(wide.Broken) != 1 {
		t.Errorf("%d pictures, broken %q, want 3 and one", wide.Pictures, wide.Broken)
	}
	if !strings.Contains(wide.Text, "A <long> line") || !strings.Contains(wide.Text, "folded") || strings.Contains(wide.Text, "**") {
		t.Errorf("text %q", wide.Text)
	}
}

func TestParseWantsViews(t *testing.T) {
	for _, dom := range []string{"", "<html></html>", `<pre id="views">[`, `<pre id="views">[</pre>`} {
		if views, err := parse([]byte(dom)); err == nil {
			t.Errorf("%q has views %+v", dom, views)
		}
	}
}
