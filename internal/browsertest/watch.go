package browsertest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
)

// maxSeen bounds what is kept of a page that complains without end.
const maxSeen = 100

// watch collects what no page should do.
type watch struct {
	hosts map[string]string

	mu       sync.Mutex
	seen     []string
	more     chan struct{} // closed when there is more
	expected []string
}

func newWatch(hosts map[string]string) *watch { return &watch{hosts: hosts, more: make(chan struct{})} }

// see is called for each event of the browser, on the goroutine that reads them.
func (w *watch) see(event any) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.request(e.Request.URL)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError || e.Entry.Level == cdplog.EntryLevelWarning {
			w.add("console: " + e.Entry.Text + " " + e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		w.add("exception: " + text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			w.add("console: " + arguments(e.Args))
		}
	}
}

// arguments are what a script has given to the console.
func arguments(args []*runtime.RemoteObject) string {
	var words []string
	for _, a := range args {
		if a.Description != "" {
			words = append(words, a.Description)
		} else {
			words = append(words, plain(a.Value))
		}
	}
	return strings.Join(words, " ")
}

// plain returns a JSON value as a person would write it; "" where there is none.
func plain(value []byte) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// request notes one that goes to a server that the test has not named.
func (w *watch) request(to string) {
	u, err := url.Parse(to)
	if err != nil {
		w.add("a request to " + to)
		return
	}
	if _, named := w.hosts[u.Hostname()]; !named && u.Hostname() != "" && u.Scheme != "data" && u.Scheme != "blob" {
		w.add("a request to " + to)
	}
}

func (w *watch) add(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.seen) < maxSeen {
		w.seen = append(w.seen, what)
		close(w.more)
		w.more = make(chan struct{})
	}
}

// report fails the test for all that was not expected, and for what was expected and did not come.
func (w *watch) report(t testing.TB) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range w.seen {
		if !slices.ContainsFunc(w.expected, func(e string) bool { return strings.Contains(what, e) }) {
			t.Errorf("the page caused %s", what)
		}
	}
	for _, e := range w.expected {
		if !slices.ContainsFunc(w.seen, func(what string) bool { return strings.Contains(what, e) }) {
			t.Errorf("nothing like %q was seen; take it out of what is expected", e)
		}
	}
}

// Expect says that what the page causes may contain a text: a refused form's status, for one, is an error on the
// console. It has to come at least once.
func (p *Page) Expect(text string) {
	p.watch.mu.Lock()
	defer p.watch.mu.Unlock()
	p.watch.expected = append(p.watch.expected, text)
}

// WaitSeen waits until something that contains a text was seen, which is to be expected.
func (p *Page) WaitSeen(text string) {
	p.t.Helper()
	deadline := time.NewTimer(pageTime)
	defer deadline.Stop()
	for {
		p.watch.mu.Lock()
		seen, more := slices.Clone(p.watch.seen), p.watch.more
		p.watch.mu.Unlock()
		if slices.ContainsFunc(seen, func(what string) bool { return strings.Contains(what, text) }) {
			return
		}
		select {
		case <-more:
		case <-deadline.C:
			p.t.Fatalf("nothing like %q was seen, but %q", text, seen)
		}
	}
}

// ExpectStatus says that a page or resource may come with a status of 400 or above, which is an error on the console.
func (p *Page) ExpectStatus(status int) {
	p.Expect(fmt.Sprintf("the server responded with a status of %d", status))
}
