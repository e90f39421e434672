package source_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/source"
)

// pages are lists of files as indexes have them, and as nobody should.
var pages = map[string]struct {
	page string
	want []source.Listed
}{
	"JSON": {
		`{"files": [{"filename": "a-1.tar.gz", "url": "../../f/a-1.tar.gz#x", "hashes": {"sha256": "ABC"}, "size": 7, "requires-python": ">=3", "upload-time": "2020-01-02T03:04:05.6Z", "yanked": false},
		 {"filename": "a-2.tar.gz", "url": "https://user:secret@files.example/a-2.tar.gz", "yanked": "why", "size": -1, "upload-time": "yesterday"},
		 {"filename": "a-5.tar.gz", "url": "/a-5.tar.gz", "hashes": {"md5": "x"}, "yanked": true}, {"filename": "a-6.tar.gz", "url": "/a-6.tar.gz", "hashes": null, "yanked": null},
		 {"filename": "a-3.tar.gz", "url": "file:///etc/passwd"}, {"filename": "a-4.tar.gz", "url": "http://a b/"}]}`,
		[]source.Listed{
			{File: "a-1.tar.gz", URL: "BASE/f/a-1.tar.gz", SHA256: "abc", Bytes: 7, RequiresPython: ">=3", Uploaded: time.Date(2020, 1, 2, 3, 4, 5, 600_000_000, time.UTC)},
			{File: "a-2.tar.gz", URL: "https://files.example/a-2.tar.gz", Yanked: true},
			{File: "a-5.tar.gz", URL: "BASE/a-5.tar.gz", Yanked: true}, {File: "a-6.tar.gz", URL: "BASE/a-6.tar.gz"},
		},
	},
	"HTML": {
		`<!DOCTYPE html><html><A data-requires-python="&gt;=3.1" class=x HREF='/f/a-1.tar.gz#sha256=` + strings.Repeat("A", 64) + `'>a-1.tar.gz</A>
		<a href=https://files.example/b-2.zip data-yanked>b</a><a name="x">no link</a><a href="javascript:alert(1)">x</a>`,
		[]source.Listed{
			{File: "a-1.tar.gz", URL: "BASE/f/a-1.tar.gz", SHA256: strings.Repeat("a", 64), RequiresPython: ">=3.1"},
			{File: "b-2.zip", URL: "https://files.example/b-2.zip", Yanked: true},
		},
	},
	"empty": {"", nil},
}

func TestList(t *testing.T) {
	for name, test := range pages {
		t.Run(name, func(t *testing.T) {
			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				asked = append(asked, r.URL.Path+" "+user+password)
				if strings.HasPrefix(r.URL.Path, "/other/") {
					http.NotFound(w, r)
					return
				}
				_, _ = io.WriteString(w, test.page)
			}))
			defer server.Close()
			with := strings.Replace(server.URL, "://", "://u:p4ss@", 1)
			d := read(t, source.Config{IndexURL: with + "/simple", ExtraIndexURLs: []string{server.URL + "/other"}}).Downloader()
			defer d.Close()
			got, err := d.List(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			want := append([]source.Listed(nil), test.want...)
			for i := range want {
				want[i].URL = strings.Replace(want[i].URL, "BASE", server.URL, 1)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"/other/a/ up4ss", "/simple/a/ up4ss"}, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// The files of a folder are listed whatever else there is; what one index does not answer, no
// other is asked for.
func TestListOfSeveral(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a-1.tar.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad/") {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, pages["HTML"].page)
	}))
	defer server.Close()
	alone := read(t, source.Config{FindLinks: []string{dir}, NoIndex: true}).Downloader()
	defer alone.Close()
	list, err := alone.List(t.Context(), "a")
	want := []source.Listed{{File: "a-1.tar.gz", URL: (&url.URL{Scheme: "file", Path: filepath.Join(dir, "a-1.tar.gz")}).String()}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("a folder: %v\n%s", err, diff)
	}
	both := read(t, source.Config{FindLinks: []string{dir, server.URL + "/page"}, IndexURL: server.URL + "/simple"}).Downloader()
	defer both.Close()
	if list, err := both.List(t.Context(), "a"); err != nil || len(list) != 5 {
		t.Errorf("a folder, a page and an index: %d files, %v", len(list), err)
	}
	refused := read(t, source.Config{IndexURL: server.URL + "/simple", ExtraIndexURLs: []string{server.URL + "/bad"}}).Downloader()
	defer refused.Close()
	if list, err := refused.List(t.Context(), "a"); err == nil {
		t.Errorf("beyond an index that refuses: %v", list)
	}
}

// Of a list that is too long the first files count, and what is no list is an error.
func TestListIsBounded(t *testing.T) {
	s := read(t, source.Config{IndexURL: "https://example.org/simple"})
	many := func(entry string) string { return strings.Repeat(entry, 60_000) }
	for name, test := range map[string]struct {
		page string
		want int
	}{
		"JSON":       {`{"files": [` + many(`{"filename": "a", "url": "a"},`) + `{}]}`, 50_000},
		"HTML":       {many(`<a href=a>`), 50_000},
		"attributes": {`<a ` + many(`x `) + `href=a><a href=b>`, 1},
	} {
		if list, err := source.ListPage(s, []byte(test.page)); err != nil || len(list) != test.want {
			t.Errorf("%s: %d files, %v; want %d", name, len(list), err, test.want)
		}
	}
	for _, page := range []string{`{"files": {}}`, `{"files": "a"}`, `{"files": [1]}`, `{"files": [{}`} {
		if list, err := source.ListPage(s, []byte(page)); err == nil {
			t.Errorf("%s: %v", page, list)
		}
	}
}

// Whatever a page is, what comes of it has addresses that can be fetched and no more.
func FuzzList(f *testing.F) {
	for _, p := range pages {
		f.Add([]byte(p.page))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		s, err := source.Read(source.Config{IndexURL: "https://example.org/simple"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := source.ListPage(s, bytes.TrimSpace(page))
		if err != nil && list != nil {
			t.Errorf("both %v and %v", list, err)
		}
		for _, file := range list {
			u, err := url.Parse(file.URL)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" || file.Bytes < 0 {
				t.Errorf("%+v", file)
			}
		}
	})
}
