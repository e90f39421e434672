package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
	"time"

	"runpython/internal/check"
)

//go:embed page
var page embed.FS

// pageTemplate is parsed when the first page is written.
var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.html").Funcs(template.FuncMap{
		"tasks": tasks, "suppressed": suppressed, "tally": Tally, "verdict": verdict, "score": score, "title": title, "server": serverOf,
		"points": points, "word": func(s check.Status) string { w, _ := mark(s); return strings.ToLower(w) },
		"rule": func(id string) string { r, _ := check.RuleOf(id); return r.Title }, "evident": evident,
		"day": func(t time.Time) string { return t.Format(time.DateOnly) }, "minute": func(t time.Time) string { return t.Format("2006-01-02 15:04 MST") },
		"grade": grade, "bar": bar, "yes": yes, "inc": func(i int) int { return i + 1 },
	}).ParseFS(page, "page/*.html"))
})

// writeHTML writes one page that is whole by itself: its style is in it, it has no script, and its policy lets nothing be fetched.
func writeHTML(w io.Writer, s *Set) error {
	style, err := page.ReadFile("page/page.css")
	if err != nil {
		return err //nolint:wrapcheck // it is in the program
	}
	style = bytes.TrimSpace(style)
	sum := sha256.Sum256(style)
	return pageTemplate().Execute(w, map[string]any{ //nolint:wrapcheck // Write says what was written
		"Set": s, "Style": template.CSS(style), //nolint:gosec // it is ours
		"Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'",
	})
}

// grade names the colour of a number.
func grade(n *int) string {
	switch {
	case n == nil:
		return "unknown"
	case *n >= goodScore:
		return "good"
	case *n >= fairScore:
		return "fair"
	}
	return "bad"
}

// bar is how long the bar of a number is, of 100.
func bar(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// yes writes what may be true, false or not said.
func yes(b *bool) string {
	if b == nil {
		return "not said"
	}
	return fmt.Sprint(*b)
}
