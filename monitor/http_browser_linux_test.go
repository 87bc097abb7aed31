//go:build !race

// With the race detector chromedp would be compiled a second time.

package monitor

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/braid-rdma/braid"
)

// browserTime is what the browser may take for one step on a busy machine.
const browserTime = 2 * time.Minute

// screenshots names a directory for pictures of each view; docs/monitor.md says how those of the docs are made.
const screenshots = "BRAID_SCREENSHOTS"

// tab is a page in a browser.
type tab struct {
	t    *testing.T
	ctx  context.Context
	page *Page
}

// watchScript notes what moves on the page by itself, and that it was never loaded anew.
const watchScript = `window.shifted = 0; window.loads = (window.loads || 0) + 1;
new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) window.shifted += e.value; }).observe({ type: "layout-shift", buffered: true });`

// newTab starts a browser with an empty tab, for a page and perhaps others.
func newTab(t *testing.T, p *Page, others ...*Page) *tab {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("SKIPPED: %s: chromium is missing (Debian: apt-get install chromium)", t.Name())
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, // which root cannot have; the page is our own
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("ignore-certificate-errors", true), chromedp.WSURLReadTimeout(browserTime))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx, page: p}
	must(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: watchScript})
		return err
	})))
	x.watch(append(others, p))
	return x
}

// watch notes what goes wrong, until the test ends: errors, and requests to elsewhere.
func (x *tab) watch(pages []*Page) {
	messages, requests := chromedp.Console(x.ctx), chromedp.Events(x.ctx, network.RequestWillBeSent)
	var watching sync.WaitGroup
	var mu sync.Mutex
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		x.t.Error(text)
	}
	watching.Go(func() {
		for m, err := range messages {
			if err != nil {
				return // the end
			}
			// A host is away, values are wrong, or somebody has just logged out.
			if !slices.ContainsFunc([]string{"status of 503", "status of 422", "status of 401"}, func(known string) bool { return strings.Contains(m.Text, known) }) {
				note(fmt.Sprintf("console: %v %s", m, m.URL))
			}
		}
	})
	watching.Go(func() {
		for r, err := range requests {
			if err != nil {
				return
			}
			to := r.Request.URL
			if !strings.HasPrefix(to, "about:") && !slices.ContainsFunc(pages, func(p *Page) bool { return strings.HasPrefix(to, p.URL()) }) {
				note("a request to elsewhere: " + to)
			}
		}
	})
	x.t.Cleanup(func() {
		_ = chromedp.Cancel(x.ctx) // it ends in any case
		watching.Wait()
	})
}

// do does something in the browser, which has to work.
func (x *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	run(x, what, chromedp.Steps(steps...))
}

func run[T any](x *tab, what string, action chromedp.Action[T]) T {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, browserTime)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		text, _ := chromedp.Run(x.ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
		x.t.Fatalf("%s: %v\n%.4000s", what, err, text)
	}
	return result
}

// sees waits until the page has some texts.
func (x *tab) sees(texts ...string) {
	x.t.Helper()
	for _, text := range texts {
		x.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
	}
}

// until waits until something is so on the page.
func (x *tab) until(so string) {
	x.t.Helper()
	run(x, so, chromedp.Poll[bool](so, chromedp.WithPollingTimeout(browserTime), chromedp.WithPollingInterval(50*time.Millisecond)))
}

// is asks for something on the page.
func (x *tab) is(so string) bool {
	x.t.Helper()
	return run(x, so, chromedp.Evaluate[bool](so))
}

// script does something on the page.
func (x *tab) script(text string) {
	x.t.Helper()
	run(x, text, chromedp.Evaluate[chromedp.Void](text))
}

// looks is a width, and light or dark.
type looks struct {
	width, height int64
	scheme        string
}

func (x *tab) becomes(l looks) {
	x.t.Helper()
	x.do("size", chromedp.EmulateViewport(l.width, l.height), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}

// goes opens a view by its address, as a link from elsewhere does.
func (x *tab) goes(place string) {
	x.t.Helper()
	x.do("open "+place, chromedp.Navigate("about:blank"), chromedp.Navigate(x.page.URL()+place))
}

// follows goes to a view as a link on the page does.
func (x *tab) follows(place string) {
	x.t.Helper()
	x.script(fmt.Sprintf("window.shifted = 0; location.hash = %q", strings.TrimPrefix(place, "#")))
}

// press presses keys.
func (x *tab) press(keys string) {
	x.t.Helper()
	x.do("keys "+keys, chromedp.KeyEvent(keys))
}

// click clicks a button that can be, by how its text begins.
func (x *tab) click(text string) {
	x.t.Helper()
	button := fmt.Sprintf(`[...document.querySelectorAll("button")].find((b) => b.textContent.startsWith(%q) && !b.disabled)`, text)
	x.until("Boolean(" + button + ")")
	x.script(button + ".click()")
}

// wide lists what sticks out of the window.
const wide = `document.documentElement.scrollWidth <= innerWidth ? "" : [...document.querySelectorAll("main *")].filter((e) =>
	e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll")).map((e) => e.tagName + "." + e.className).slice(0, 5).join(" ") || "?"`

// fits checks that nothing sticks out, and that little has moved since it was opened; again, if any, opens it once more.
func (x *tab) fits(name string, l looks, again func()) {
	x.t.Helper()
	if sticks := run(x, "measure", chromedp.Evaluate[string](wide)); sticks != "" {
		x.t.Errorf("%s at %d: it is wider than the window: %s", name, l.width, sticks)
	}
	shifted := x.shifted()
	for range 2 { // an alarm that comes or goes at that moment may move things, but not each time
		if shifted <= maxShift || again == nil {
			break
		}
		again()
		shifted = x.shifted()
	}
	if shifted > maxShift {
		x.t.Errorf("%s at %d: things have moved by %.3f", name, l.width, shifted)
	}
	x.picture(fmt.Sprintf("%s-%d-%s", name, l.width, l.scheme))
}

// maxShift is good, says web.dev/cls.
const maxShift = 0.1

// shifted is how much has moved since the view was opened.
func (x *tab) shifted() float64 {
	x.t.Helper()
	return run(x, "measure", chromedp.Evaluate[float64]("window.shifted"))
}

// picture takes a picture if wanted, and makes it small.
func (x *tab) picture(name string) {
	x.t.Helper()
	dir := os.Getenv(screenshots)
	if dir == "" {
		return
	}
	seen, err := png.Decode(bytes.NewReader(run(x, "picture", chromedp.CaptureScreenshot())))
	must(x.t, err)
	var b bytes.Buffer
	must(x.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, fewColours(seen)))
	must(x.t, os.WriteFile(filepath.Join(dir, "monitor-"+name+".png"), b.Bytes(), 0o644))
}

// fewColours is a picture with its 256 most frequent colours, which takes a third of the room.
func fewColours(seen image.Image) image.Image {
	counts := map[color.Color]int{}
	for y := seen.Bounds().Min.Y; y < seen.Bounds().Max.Y; y++ {
		for x := seen.Bounds().Min.X; x < seen.Bounds().Max.X; x++ {
			counts[seen.At(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	few := image.NewPaletted(seen.Bounds(), all[:min(len(all), 256)])
	draw.Draw(few, few.Bounds(), seen, seen.Bounds().Min, draw.Src)
	return few
}

// evil is a name that a careless page would run.
const evil = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// site is a monitor with its page, and a program with labels, some polls of which are slow.
func site(t *testing.T, labels string) (m *Monitor, p *Page) {
	t.Helper()
	var calls atomic.Int32
	converse(t, braid.Config{Trace: braid.TraceReqRsp, PollingWarn: 2 * time.Millisecond, Labels: labels}, func(_ context.Context, m *braid.Msg) ([]byte, error) {
		if calls.Add(1)%200 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		return m.Bytes(), nil
	})
	m = quick(t, t.TempDir())
	p, err := m.ServePage(PageConfig{Listen: "127.0.0.1:0"})
	must(t, err)
	t.Cleanup(p.Close)
	return m, p
}

// TestPageInABrowser looks at every view as its readers do, wide and narrow, light and dark, with what real agents and programs tell; and has
// things happen meanwhile.
func TestPageInABrowser(t *testing.T) {
	m, p := site(t, "role=db,note=<b>bold</b>")
	newMachine(t, m, "a", "r1")
	b := newMachine(t, m, "b", "r2")
	must(t, m.introduced(&hello{Version: version, Host: Host{Name: evil, Addr: "127.0.0.1", Rack: evil}, Now: time.Now()}))
	programs := programsOf(newPerson(t, p), "a")
	eventually(t, "hosts see each other", func() bool { return sees(m, "a", "b") })
	closed := away(t, m, PageConfig{})
	x := newTab(t, p, closed)
	one := programs[0]
	place := fmt.Sprintf("#/host/a/program/%d.%d", one.PID, one.Number)
	qp := busiest(one.Device).Number
	for _, l := range []looks{{1280, 800, "light"}, {390, 800, "dark"}} {
		x.becomes(l)
		for _, view := range []struct {
			name, place string
			texts       []string
		}{
			{"overview", "", []string{"Racks", "What has happened", "has joined", "<script>"}},
			{"mesh", "#/mesh/r1/r2", []string{"r1 to r2", "no data"}},
			{"hosts", "#/hosts", []string{"last report", "127.0.0.", "<script>"}},
			{"host", "#/host/a", []string{"role=db", "<b>bold</b>", "RTS", "bit/s", "handler", "How others see it"}},
			{"unknown", "#/host/" + url.PathEscape(evil), []string{"<img src=x", "does not report"}},
			{"program", place, []string{"Mbit/s", "What limits it", "samples in"}},
			{"connection", fmt.Sprintf("%s/qp/%d", place, qp), []string{"no-work", "samples in", "Goodput by path", "all others", "in use", "Mbit/s"}},
			{"traces", place + "/traces", []string{"Slowest", "Look again"}},
			{"parameters", place + "/parameters", []string{"keepalive", "the same", "Nothing since the program began", "To change something"}},
			{"events", "#/events/all/joined", []string{"3 of", "has joined"}},
			{"login", "#/login", []string{"Token", "Your name"}},
		} {
			open := func() {
				if l.scheme == "light" {
					x.goes(view.place)
				} else {
					x.follows("")
					x.follows(view.place)
				}
				x.sees(view.texts...)
				if view.name == "connection" {
					x.until(pointsShown)
				}
			}
			open()
			x.fits(view.name, l, open)
			if x.is("document.title === 'taken'") || !x.is("document.title.includes('braid monitor')") {
				t.Errorf("%s: a name was run", view.name)
			}
		}
		x.waterfall(place)
		x.fits("trace", l, nil)
	}
	x.keyboard()
	x.becomes(looks{1280, 800, "light"})
	x.changes(m, place)
	x.elsewhere(m, closed)
	x.alarm(b)
}

// elsewhere opens the page that is served over TLS: there is nothing to see but the form, until somebody logs in.
func (x *tab) elsewhere(m *Monitor, closed *Page) {
	x.t.Helper()
	other := &tab{x.t, x.ctx, closed}
	other.goes("#/hosts")
	other.sees("Your name")
	if other.is(`document.body.innerText.includes("last report")`) {
		x.t.Error("a stranger sees hosts")
	}
	other.script(`document.querySelector("input[name=name]").focus()`)
	other.press("Rita" + kb.Tab + m.Join(RoleReader) + kb.Enter)
	other.sees("last report", "Rita (reader)")
	other.click("Log out")
	other.sees("Your name")
}

// pointsShown says whether charts have something to show.
const pointsShown = `document.querySelectorAll(".chart").length === 4 && [...document.querySelectorAll(".chart")].every((e) => e.dataset.points >= 3)`

// waterfall opens a trace from the list.
func (x *tab) waterfall(place string) {
	x.t.Helper()
	x.goes(place + "/traces")
	x.until(`document.querySelectorAll("table a[href*=traces]").length > 0`)
	x.script(`document.querySelector("table a[href*=traces]").click()`)
	x.sees("handler", "All traces")
	x.until(`document.querySelectorAll(".waterfall .track > span").length >= 4`)
	if !x.is(`[...document.querySelectorAll(".waterfall .track > span")].every((e) => e.getBoundingClientRect().width >= 2 && e.getBoundingClientRect().right <= e.parentElement.getBoundingClientRect().right + 1)`) {
		x.t.Error("a phase cannot be seen")
	}
}

// keyboard goes through the page without a mouse.
func (x *tab) keyboard() {
	x.t.Helper()
	x.goes("")
	x.sees("Racks")
	x.until(`document.documentElement.dataset.keys === "on"`)
	x.press("3")
	x.sees("last report")
	x.script(`document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }))`) // the browser's own keys would type it as well
	x.until(`document.activeElement.type === "search"`)
	x.press("r1")
	x.sees("1 of 3")
	x.until(`location.hash === "#/hosts"`) // and 1 was no key here
	x.press(kb.Tab)
	x.until(`document.activeElement.textContent === "a"`)
	x.press(kb.Enter)
	x.sees("How others see it")
	x.until(`document.activeElement.classList.contains("title")`)
	x.press("u")
	x.until(`location.hash === "#/hosts"`)
	x.press("?")
	x.sees("one level up")
	x.press("tt")
	x.until(`document.documentElement.className === "dark"`)
	x.press("t")
}

// changes has a reader, who may not, and an operator change a parameter and undo it.
func (x *tab) changes(m *Monitor, place string) {
	x.t.Helper()
	x.logIn(m.Join(RoleReader), "Rita")
	x.goes(place + "/parameters")
	x.sees("Rita (reader)", "keepalive", "To change something")
	if !x.is(`document.querySelectorAll("main input").length === 0`) {
		x.t.Error("a reader may edit")
	}
	x.click("Log out")
	x.until(`!document.body.innerText.includes("Rita")`)
	x.logIn(m.Join(RoleOperator), "Otto")
	x.goes(place + "/parameters")
	x.sees("Otto (operator)")
	x.edit("keepalive", "nonsense")
	x.click("Check 1")
	x.sees("invalid duration")
	x.edit("keepalive", "7s")
	x.click("Check 1")
	x.sees("The program takes this:", "Nothing since the program began")
	x.fits("change", looks{1280, 800, "light"}, nil)
	x.click("Apply")
	x.sees("Changed.", "Otto", "≠")
	x.click("Undo")
	x.click("Really undo")
	x.sees("undoes 1", "undone")
	x.goes("#/events")
	x.sees(`"Otto" asks to set "keepalive=7s" in program`)
}

// edit types a value of a parameter.
func (x *tab) edit(name, value string) {
	x.t.Helper()
	input := fmt.Sprintf(`document.querySelector('input[aria-label=%q]')`, name)
	x.until("Boolean(" + input + ")")
	x.script(input + ".focus(); " + input + ".select()")
	x.press(value)
}

func (x *tab) logIn(token, name string) {
	x.t.Helper()
	x.goes("#/login")
	x.until(`Boolean(document.querySelector("input[name=token]"))`)
	x.script(`document.querySelector("input[name=name]").focus()`)
	x.press(name + kb.Tab + token + kb.Enter)
	x.until(fmt.Sprintf("document.querySelector('header').innerText.includes(%q)", name))
}

// alarm stops an agent while the page is open: the alarm comes by itself, and the host is without data, not without loss.
func (x *tab) alarm(b *machine) {
	x.t.Helper()
	x.goes("")
	x.sees("Racks")
	b.stop()
	x.until(`[...document.querySelectorAll(".alarm")].some((e) => /(host|no-data): b/.test(e.innerText))`)
	x.until(`/wrong/.test(document.querySelector(".status").innerText) && document.title.startsWith("(")`)
	if !x.is("window.loads === 1") {
		x.t.Error("the page was loaded anew")
	}
	x.fits("alarm", looks{1280, 800, "light"}, nil)
	x.goes("#/mesh/r2/r1")
	x.until(`document.querySelectorAll(".mesh .cell-none").length > 0`)
	b.start(x.t)
}

// TestPageScreenshots makes the pictures of the docs.
func TestPageScreenshots(t *testing.T) {
	if os.Getenv(screenshots) == "" {
		t.Skipf("SKIPPED: %s: %s is not set to a directory for the pictures", t.Name(), screenshots)
	}
	m, p := site(t, "role=storage,tier=1")
	names := []string{"stor1", "stor2", "gpu1", "gpu2"}
	machines := map[string]*machine{}
	for i, name := range names {
		machines[name] = newMachine(t, m, name, []string{"rack-a", "rack-b"}[i/2])
	}
	programs := programsOf(newPerson(t, p), "stor1")
	eventually(t, "hosts see each other", func() bool { return sees(m, names...) })
	x := newTab(t, p)
	x.becomes(looks{1280, 800, "light"})
	place := fmt.Sprintf("#/host/stor1/program/%d.%d", programs[1].PID, programs[1].Number)
	eventually(t, "nothing is wrong", func() bool { return len(m.Alarms()) == 0 })
	x.goes(fmt.Sprintf("%s/qp/%d", place, busiest(programs[1].Device).Number))
	x.sees("samples in")
	x.until(`[...document.querySelectorAll(".chart")].every((e) => e.dataset.points >= 20)`)
	x.picture("connection")
	x.waterfall(place)
	x.picture("trace")
	x.becomes(looks{1280, 800, "dark"})
	x.goes("#/host/stor1")
	x.sees("bit/s", "poll")
	x.picture("host")
	x.becomes(looks{1280, 800, "light"})
	x.goes("")
	x.sees("Racks")
	machines["gpu2"].stop()
	x.sees("responds to nobody")
	x.picture("page")
}
