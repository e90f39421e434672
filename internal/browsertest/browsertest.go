// Package browsertest lets tests walk pages in a real browser: Debian's Chromium without a window, driven over its
// debugging protocol. Only tests import it.
//
// A [Page] is one browser with a profile of its own, which begins empty and is removed. It finds no other server than
// those that the test names, takes no other certificate than theirs, and fails the test for what a person with open developer
// tools would frown at: errors on the console, exceptions, requests to other hosts. [Page.Look] judges and photographs what is shown, in all
// the widths and colours in which people see it.
//
// # Trust
//
// Tests trust it. Pages are as hostile as the server under test makes them; they run in Chromium, as root without its
// own sandbox.
//
// # Failure
//
// Without Chromium or the checker of accessibility the test is skipped with the reason. Whatever goes wrong with the browser, and
// whatever takes longer than a deadline, ends the test.
package browsertest

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// AxeVariable names the script of axe-core, which .ci/axe installs.
	AxeVariable = "RUNPYTHON_TEST_AXE"
	// ScreenshotsVariable names the folder that pictures of pages go to; without it they are removed with the test.
	ScreenshotsVariable = "RUNPYTHON_TEST_SCREENSHOTS"
)

const (
	// pageTime bounds one thing that a test does with a page, endTime how long a browser may take to end.
	pageTime = time.Minute
	endTime  = 30 * time.Second
)

// Options say what a browser finds.
type Options struct {
	// Hosts are the only names and addresses that lead anywhere, each with that of its server (host:port), which is then found at
	// whatever port; "" means where the name itself leads.
	Hosts map[string]string
	// Certificate is what the servers show that speak TLS; no other is taken that is not publicly trusted.
	Certificate *x509.Certificate
	// NoScript turns JavaScript off.
	NoScript bool
}

// A Page is a browser with one page. Its methods end the test when they cannot do what they say. It is for one
// goroutine, and is closed with the test.
type Page struct {
	t     testing.TB
	o     Options
	ctx   context.Context //nolint:containedctx // the driver keeps its browser in it
	axe   string          // source of the checker
	watch *watch
}

// Start starts a browser for a test. What the test serves has to be there until it ends.
func Start(t testing.TB, o Options) *Page {
	t.Helper()
	program, axe := needed(t)
	dir := profile(t)
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(dir), chromedp.WindowSize(1280, 800),
		chromedp.Flag("host-resolver-rules", resolver(o.Hosts)), chromedp.Flag("lang", "en-GB"),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-proxy-server", true),
	)
	if o.Certificate != nil {
		key := sha256.Sum256(o.Certificate.RawSubjectPublicKeyInfo)
		flags = append(flags, chromedp.Flag("ignore-certificate-errors-spki-list", base64.StdEncoding.EncodeToString(key[:])))
	}
	ctx, free := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), flags...)
	ctx, cancel := chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf))
	p := &Page{t: t, o: o, ctx: ctx, axe: axe, watch: newWatch(o.Hosts)}
	t.Cleanup(func() {
		defer free()
		defer cancel()
		end, stop := context.WithTimeout(ctx, endTime)
		defer stop()
		if err := chromedp.Cancel(end); err != nil {
			t.Errorf("end the browser: %v", err)
		}
		p.watch.report(t)
	})
	p.must("start the browser", chromedp.Listen(ctx, p.watch.see))
	p.enable()
	return p
}

// needed returns the path of the browser and the source of the checker, or skips the test.
func needed(t testing.TB) (program, axe string) {
	t.Helper()
	if testing.Short() {
		t.Skip("browsers are left out of -short tests")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on PATH: apt-get install chromium")
	}
	name := os.Getenv(AxeVariable)
	if name == "" {
		t.Skipf("%s is not set: .ci/axe installs what this needs and prints the path", AxeVariable)
	}
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return program, string(source)
}

// profile returns a folder that is removed once the browser has ended. [testing.T.TempDir] would fail the test for a file that
// a process of the browser writes at its very end.
func profile(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browsertest-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("remove the profile: %v", err)
		}
	})
	return dir
}

// resolver returns the rules by which Chromium finds servers: those that are named, and none else.
func resolver(hosts map[string]string) string {
	var rules []string
	for name, address := range hosts {
		if address == "" {
			rules = append(rules, "EXCLUDE "+name)
		} else {
			rules = append(rules, "MAP "+name+" "+address)
		}
	}
	return strings.Join(append(rules, "MAP * ~NOTFOUND"), ", ")
}

// enable turns on what is watched, and turns JavaScript off where the test wants that.
func (p *Page) enable() {
	p.t.Helper()
	call(p, "watch the console", cdplog.Enable, cdp.Empty{})
	call(p, "watch the console", runtime.Enable, cdp.Empty{})
	call(p, "watch the network", network.Enable, network.EnableParams{})
	call(p, "show the page as focused", emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	p.script(!p.o.NoScript)
	p.View(View{})
}

func (p *Page) script(on bool) {
	p.t.Helper()
	call(p, "switch JavaScript", emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Context returns what [chromedp.Run] and [chromedp.Call] need for all that this package does not do, as the browser's virtual
// authenticator.
func (p *Page) Context() context.Context { return p.ctx }

// must ends the test for an error.
func (p *Page) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", what, err)
	}
}

// call gives the browser a command of its protocol.
func call[P, R any](p *Page, what string, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTime)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	p.must(what, err)
	return result
}

// run does something with the page.
func run[T any](p *Page, what string, action chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, pageTime)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	p.must(what, err)
	return result
}
