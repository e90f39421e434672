package browsertest_test

import (
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/browsertest"
)

const (
	good = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Good</title>
<link rel="icon" href="data:,"></head><body><main><h1>Hello</h1>
<form method="post" action="/sent"><label for="name">Name</label><input id="name" name="name" required aria-describedby="hint"><p id="hint">As you like</p>
<button>Send</button></form><p id="script"></p></main><script>document.getElementById("script").textContent = "script ran"</script></body></html>`
	bad = `<!DOCTYPE html><html><head><title>Bad</title><link rel="icon" href="data:,"><style>button { outline: none } p { width: 500px }</style></head>
<body><input name="name"><button>Send</button><p>wide</p>
<script>console.error("oh no"); fetch("https://elsewhere.example/x").catch(() => {}); setTimeout(() => { throw new Error("thrown") })</script></body></html>`
)

// serve serves the two pages under the name run.example, and returns what a browser needs to find them.
func serve(t *testing.T) browsertest.Options {
	t.Helper()
	mux := http.NewServeMux()
	for path, page := range map[string]string{"/good": good, "/bad": bad} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	}
	mux.HandleFunc("POST /sent", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, `<!DOCTYPE html><html lang="en"><title>Sent</title><link rel="icon" href="data:,"><main><h1>%s</h1></main>`, r.FormValue("name"))
	})
	s := httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	return browsertest.Options{Hosts: map[string]string{"run.example": s.Listener.Addr().String()}, Certificate: s.Certificate()}
}

// picture returns the size of one, in pixels.
func picture(t *testing.T, name string) image.Point {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := png.DecodeConfig(f)
	if err != nil {
		t.Fatal(err)
	}
	return image.Pt(c.Width, c.Height)
}

func TestWalk(t *testing.T) {
	t.Setenv(browsertest.ScreenshotsVariable, "")
	for _, noScript := range []bool{false, true} {
		t.Run(fmt.Sprintf("noscript=%v", noScript), func(t *testing.T) {
			o := serve(t)
			o.NoScript = noScript
			p := browsertest.Start(t, o)
			if status := p.Open("https://run.example/good"); status != http.StatusOK || p.Title() != "Good" || p.Text("h1") != "Hello" {
				t.Fatalf("Open() = %d, %q, %q", status, p.Title(), p.Text("h1"))
			}
			if ran := p.Count("#script:empty") == 0; ran == noScript {
				t.Errorf("the script of the page ran: %v", ran)
			}
			p.Look("good")
			if size := picture(t, p.Screenshot("good", browsertest.View{Width: 320, Zoom: 200})); size != image.Pt(320, 800) {
				t.Errorf("the picture has %v", size)
			}
			if size := picture(t, p.Screenshot("good", browsertest.View{Width: 320, Text: 600})); size.X != 320 || size.Y < 1000 {
				t.Errorf("the picture of a long page has %v", size)
			}
			p.View(browsertest.View{Text: 200})
			if size := browsertest.Eval[string](p, "getComputedStyle(document.body).fontSize"); size != "32px" {
				t.Errorf("at 200 %% text has %s", size)
			}
			if diff := cmp.Diff([]string{"Name", "Send"}, p.TabOrder()); diff != "" {
				t.Errorf("tab order (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"heading Hello", "textbox Name (As you like) required=true", "button Send"}, p.Tree()); diff != "" {
				t.Errorf("tree (-want +got):\n%s", diff)
			}
			p.ExpectStatus(http.StatusTeapot)
			p.Fill("#name", "Ann")
			if status := p.Follow("button"); status != http.StatusTeapot || p.Text("h1") != "Ann" || p.URL() != "https://run.example/sent" {
				t.Errorf("Follow() = %d, %q, %q", status, p.Text("h1"), p.URL())
			}
		})
	}
}

// complaints is a test that keeps what it would be failed for.
type complaints struct {
	testing.TB
	mu    sync.Mutex
	lines []string
	ends  []func()
}

func (c *complaints) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

func (c *complaints) Cleanup(f func()) { c.ends = append(c.ends, f) }

// What is wrong with a page fails its test.
func TestComplaints(t *testing.T) {
	t.Setenv(browsertest.ScreenshotsVariable, "")
	c := &complaints{TB: t}
	p := browsertest.Start(c, serve(t))
	p.Open("https://run.example/bad")
	p.Look("bad")
	p.TabOrder()
	p.Expect("never seen")
	for _, end := range slices.Backward(c.ends) {
		end()
	}
	all := strings.Join(c.lines, "\n")
	for _, want := range []string{
		"console: oh no", "exception: ", "thrown", "a request to https://elsewhere.example/x", "html-has-lang", "label: Form elements must have labels",
		"bad, 320-light: the page is", "does not say its language", `the focus on "Send" cannot be seen`, `nothing like "never seen"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no complaint has %q:\n%s", want, all)
		}
	}
}
