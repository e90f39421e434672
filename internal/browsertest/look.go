package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
)

// A View is how somebody looks at a page. The zero View is a window of 1280 pixels, light.
type View struct {
	Width int  // of the window, in pixels of CSS before zooming
	Dark  bool // colours
	Zoom  int  // in percent; 0 means 100
	Text  int  // size of text alone, in percent; 0 means 100
	Print bool // on paper
}

const (
	defaultWidth = 1280
	height       = 800
)

// String names a view, for names of files.
func (v View) String() string {
	name := fmt.Sprintf("%d-light", v.width())
	if v.Dark {
		name = fmt.Sprintf("%d-dark", v.width())
	}
	if v.Zoom != 0 {
		name += fmt.Sprintf("-zoom%d", v.Zoom)
	}
	if v.Text != 0 {
		name += fmt.Sprintf("-text%d", v.Text)
	}
	if v.Print {
		name += "-print"
	}
	return name
}

func (v View) width() int {
	if v.Width == 0 {
		return defaultWidth
	}
	return v.Width
}

// views are those that each page is to be right in: a small telephone and a desk, light and dark (WCAG 2.2, 1.4.10, asks for a desk at
// 400 %, which is 320 pixels wide).
func views() []View {
	return []View{{Width: 320}, {Width: 320, Dark: true}, {Width: 1280}, {Width: 1280, Dark: true}}
}

// enlarged are views that pages must fit into (WCAG 2.2, 1.4.4), with the same elements and colours as the others.
func enlarged() []View { return []View{{Width: 1280, Zoom: 200}, {Width: 640, Text: 200}} }

// View shows the page so.
func (p *Page) View(v View) {
	p.t.Helper()
	zoom, text := 100, 100
	if v.Zoom != 0 {
		zoom = v.Zoom
	}
	if v.Text != 0 {
		text = v.Text
	}
	// Zooming makes each pixel of CSS larger, and the window hold fewer of them.
	call(p, "set the window", emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(v.width() * 100 / zoom), Height: int64(height * 100 / zoom), DeviceScaleFactor: float64(zoom) / 100,
	})
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	media := "" // that of a screen
	if v.Print {
		media = "print"
	}
	call(p, "set the colours", emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	// The browser's own setting for it takes effect at some later time.
	Eval[bool](p, fmt.Sprintf(`document.documentElement.style.fontSize = "%d%%", true`, text))
}

// Screenshot keeps a picture of the whole page, under a name and the view's, and returns the file's path.
func (p *Page) Screenshot(name string, v View) string {
	p.t.Helper()
	p.View(v)
	// To ask for the size makes the browser lay the page out, which it otherwise may not have done yet.
	size := Eval[[]float64](p, "[document.documentElement.clientWidth, document.documentElement.scrollHeight]")
	beyond := true
	picture := call(p, "take a picture", page.CaptureScreenshot, page.CaptureScreenshotParams{
		CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Width: size[0], Height: size[1], Scale: 1},
	}).Data
	folder := os.Getenv(ScreenshotsVariable)
	if folder == "" {
		folder = p.t.TempDir()
	}
	if p.o.NoScript {
		name += "-noscript"
	}
	path := filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+"-"+v.String()+".png")
	p.must("keep a picture", os.MkdirAll(folder, 0o755))
	p.must("keep a picture", os.WriteFile(path, picture, 0o644))
	return path
}

// Look judges the page in each of views and enlarged, keeps a picture of each under the name, and leaves it in the zero
// View: the checker finds nothing, nothing has to be scrolled sideways or is cut off, the language is said, and there is a title.
func (p *Page) Look(name string) {
	p.t.Helper()
	for _, v := range views() {
		p.Screenshot(name, v)
		p.fits(name, v)
		p.Axe(name + " " + v.String())
	}
	for _, v := range enlarged() {
		p.Screenshot(name, v)
		p.fits(name, v)
	}
	p.View(View{})
	if lang := Eval[string](p, "document.documentElement.lang"); lang == "" {
		p.t.Errorf("%s: the page does not say its language", name)
	}
	if p.Title() == "" {
		p.t.Errorf("%s: the page has no title", name)
	}
}

// fits fails the test for what is wider than the window.
func (p *Page) fits(name string, v View) {
	p.t.Helper()
	wide := Eval[[]string](p, `[...document.querySelectorAll("*")].filter(e => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && (r.right > document.documentElement.clientWidth + 1 || r.left < -1);
	}).map(e => e.outerHTML.slice(0, 120)).slice(0, 5)`)
	if scroll := Eval[int](p, "document.documentElement.scrollWidth - document.documentElement.clientWidth"); scroll > 0 || len(wide) > 0 {
		p.t.Errorf("%s, %s: the page is %d pixels wider than the window: %q", name, v, scroll, wide)
	}
}
