package trials

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/braid-rdma/braid/monitor"
)

// browserTime is what the browser may take for one step: a fault lasts until it is done.
const browserTime = 30 * time.Second

// screenshots names a directory for pictures of the page while a fault lasts.
const screenshots = "BRAID_SCREENSHOTS"

// browse returns what looks at the page of a monitor in a browser while a fault lasts: the overview has to tell of the alarm, and the view of the
// racks has to show that something is lost on a path, or who does not report. Without a browser it is nil.
func browse(t *testing.T) func(page string, alarm *monitor.Alarm) error {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Log("SKIPPED: the page in a browser: chromium is missing (Debian: apt-get install chromium)")
		return nil
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, // which root cannot have; the page is our own
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(browserTime))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800)); err != nil {
		t.Fatal(err)
	}
	return func(page string, alarm *monitor.Alarm) error {
		within, cancel := context.WithTimeout(ctx, browserTime)
		defer cancel()
		if err := open(within, page, fmt.Sprintf("document.body.innerText.includes(%q)", string(alarm.Blame)+": "+alarm.Of)); err != nil {
			return err
		}
		if err := picture(within, string(alarm.Blame)); err != nil {
			return err
		}
		if alarm.Blame != monitor.BlamePath {
			return open(within, page+"#/host/"+alarm.Of, fmt.Sprintf("document.body.innerText.includes(%q)", alarm.Of))
		}
		return open(within, page+"#/mesh/r0/r1", "/[1-9][0-9.]* %/.test(document.querySelector('main').innerText)")
	}
}

// open opens a view and waits until something is so.
func open(ctx context.Context, address, so string) error {
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank"), chromedp.Navigate(address)); err != nil {
		return err
	}
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](so, chromedp.WithPollingTimeout(browserTime), chromedp.WithPollingInterval(50*time.Millisecond)))
	if err != nil {
		text, _ := chromedp.Run(context.WithoutCancel(ctx), chromedp.Evaluate[string]("document.body.innerText"))
		return fmt.Errorf("%s: not so: %s: %w\n%.2000s", address, so, err, text)
	}
	return nil
}

// picture takes a picture if wanted.
func picture(ctx context.Context, name string) error {
	dir := os.Getenv(screenshots)
	if dir == "" {
		return nil
	}
	seen, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "lab-"+name+".png"), seen, 0o644)
}
