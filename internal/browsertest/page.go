package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// Open goes to an address and waits until the page has loaded. It returns the status of the answer.
func (p *Page) Open(url string) int {
	p.t.Helper()
	return p.loads("open "+url, chromedp.Navigate(url))
}

// Follow clicks on what a CSS selector names, a link or the button of a form, and waits until the page that it leads to has
// loaded. It returns the status of the answer.
func (p *Page) Follow(selector string) int {
	p.t.Helper()
	return p.loads("follow "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// FollowKey presses a key and waits until the page that it leads to has loaded. It returns the status of the answer.
func (p *Page) FollowKey(key string) int {
	p.t.Helper()
	return p.loads("follow a key", chromedp.KeyEvent(key))
}

// loads does what leads to another page.
func (p *Page) loads(what string, step chromedp.Action[chromedp.Void]) int {
	p.t.Helper()
	answer := run(p, what, func(ctx context.Context, _ *chromedp.Target) (*network.Response, error) {
		return chromedp.RunResponse(ctx, step)
	})
	if answer == nil {
		p.t.Fatalf("%s: no page was loaded", what)
	}
	return int(answer.Status)
}

// Click clicks on what a selector names, once it is there and can be seen, and waits for nothing.
func (p *Page) Click(selector string) {
	p.t.Helper()
	run(p, "click on "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// Fill types a text into the field that a selector names, in the place of what is there.
func (p *Page) Fill(selector, text string) {
	p.t.Helper()
	run(p, "clear "+selector, chromedp.Clear(chromedp.CSS(selector)))
	run(p, "fill "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Press presses keys, of those that package kb of the driver names, or types a text, wherever the focus is.
func (p *Page) Press(keys string) {
	p.t.Helper()
	run(p, "press a key", chromedp.KeyEvent(keys))
}

// Wait waits until what a selector names can be seen.
func (p *Page) Wait(selector string) {
	p.t.Helper()
	run(p, "wait for "+selector, chromedp.WaitVisible(chromedp.CSS(selector)))
}

// Text returns the text that is shown of what a selector names, once it is there.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	return run(p, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// Count returns how many elements a selector names.
func (p *Page) Count(selector string) int {
	p.t.Helper()
	return Eval[int](p, fmt.Sprintf("document.querySelectorAll(%q).length", selector))
}

// Title returns the page's title.
func (p *Page) Title() string {
	p.t.Helper()
	return run(p, "read the title", chromedp.Title())
}

// URL returns the page's address.
func (p *Page) URL() string {
	p.t.Helper()
	return run(p, "read the address", chromedp.Location())
}

// Eval returns the value of an expression in the page, also where the page itself may run no script. A promise is waited
// for.
func Eval[T any](p *Page, expression string) T {
	p.t.Helper()
	return run(p, "evaluate", chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}
