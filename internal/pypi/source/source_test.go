package source_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/source"
)

func read(t *testing.T, c source.Config) *source.Sources {
	t.Helper()
	s, err := source.Read(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// variable returns one of what uv gets.
func variable(s *source.Sources, name string) string {
	for _, e := range s.Environ() {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// pypi is the index when nothing is set.
const pypi = "https://pypi.org/simple/"

func TestVariables(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		config source.Config
		want   string // of UV_DEFAULT_INDEX, UV_INDEX, UV_FIND_LINKS
		shown  string
	}{
		"nothing":         {source.Config{}, pypi + "||", pypi},
		"setting first":   {source.Config{IndexURL: "https://a/s", Environ: []string{"UV_DEFAULT_INDEX=https://b/s", "PIP_INDEX_URL=https://c/s"}}, "https://a/s||", "https://a/s"},
		"uv before pip":   {source.Config{Environ: []string{"PIP_INDEX_URL=https://c/s", "UV_INDEX_URL=https://b/s"}}, "https://b/s||", "https://b/s"},
		"pip":             {source.Config{Environ: []string{"PIP_INDEX_URL=https://c/s", "PIP_EXTRA_INDEX_URL=https://d/s https://e/s"}}, "https://c/s|https://d/s https://e/s|", "https://d/s, https://e/s, https://c/s"},
		"credentials":     {source.Config{IndexURL: "https://u:pass@a/s"}, "https://u:pass@a/s||", "https://a/s"},
		"name":            {source.Config{Environ: []string{"UV_INDEX=my.corp=https://a/s", "UV_INDEX_MY_CORP_USERNAME=u", "UV_INDEX_MY_CORP_PASSWORD=p w"}}, pypi + "|https://u:p%20w@a/s|", "https://a/s, " + pypi},
		"folders":         {source.Config{FindLinks: []string{dir}, NoIndex: true}, "||" + dir, dir},
		"variable folder": {source.Config{Environ: []string{"UV_FIND_LINKS=" + dir + ",https://x:yyyy@h/l", "PIP_FIND_LINKS=/no/such"}}, pypi + "||" + dir + ",https://x:yyyy@h/l", pypi + ", " + dir + ", https://***@h/l"},
	} {
		t.Run(name, func(t *testing.T) {
			s := read(t, test.config)
			got := strings.Join([]string{variable(s, "UV_DEFAULT_INDEX"), variable(s, "UV_INDEX"), variable(s, "UV_FIND_LINKS")}, "|")
			if got != test.want || s.String() != test.shown {
				t.Errorf("uv gets %s, people see %s; want %s and %s", got, s, test.want, test.shown)
			}
		})
	}
}

// uv gets what it needs and nothing else of the process.
func TestEnviron(t *testing.T) {
	s := read(t, source.Config{Environ: []string{
		"HOME=/root", "AWS_SECRET_ACCESS_KEY=x", "UV_CONFIG_FILE=/x", "UV_INDEX_STRATEGY=unsafe-best-match", "https_proxy=http://p:1", "NO_PROXY=a", "UV_HTTP_TIMEOUT=9",
	}})
	got := s.Environ()
	slices.Sort(got)
	want := []string{"HTTPS_PROXY=http://p:1", "NO_PROXY=a", "UV_DEFAULT_INDEX=" + pypi, "UV_HTTP_TIMEOUT=9", "UV_INDEX_STRATEGY=unsafe-best-match", "UV_NATIVE_TLS=true", "UV_SYSTEM_CERTS=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRedact(t *testing.T) {
	s := read(t, source.Config{IndexURL: "https://user:p%40ssword@a/s", ExtraIndexURLs: []string{"https://token-alone@b/s"}})
	for _, text := range []string{"https://user:p%40ssword@a/s/x", "https://other:word@c/", "p@ssword", "p%40ssword", "token-alone"} {
		if got := s.Redact("before " + text + " after"); strings.Contains(got, "ssword") || strings.Contains(got, "word@") || strings.Contains(got, "token") || !strings.HasPrefix(got, "before ") || !strings.HasSuffix(got, " after") {
			t.Errorf("Redact(%q) = %q", text, got)
		}
	}
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	a := read(t, source.Config{IndexURL: "https://a/s", FindLinks: []string{dir}})
	if a.Key() != read(t, source.Config{IndexURL: "https://a/s", FindLinks: []string{dir}}).Key() {
		t.Error("the same sources have two keys")
	}
	before := a.Key()
	if err := os.Chtimes(dir, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if a.Key() == before {
		t.Error("a folder that changed has the same key")
	}
	if a.Key() == read(t, source.Config{IndexURL: "https://b/s", FindLinks: []string{dir}}).Key() {
		t.Error("two indexes have one key")
	}
}

func TestNoProxy(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.Host }))
	defer proxy.Close()
	for _, test := range []struct {
		rule, host string
		proxied    bool
	}{
		{"", "index.invalid", true},
		{"*", "index.invalid", false},
		{"invalid", "index.invalid", false},
		{".invalid", "index.invalid", false},
		{"*.invalid", "index.invalid", false},
		{"dex.invalid", "index.invalid", true},
		{"other,index.invalid", "index.invalid", false},
		{"127.0.0.0/8", "127.0.0.1:9", false},
		{"10.0.0.0/8", "127.0.0.1:9", true},
		{"127.0.0.1", "127.0.0.1:9", false},
	} {
		s := read(t, source.Config{Environ: []string{"all_proxy=" + proxy.URL, "NO_PROXY=" + test.rule}})
		d := s.Downloader()
		_, err := d.Get(t.Context(), "http://"+test.host+"/x", "", &bytes.Buffer{}, 100)
		d.Close()
		if (err == nil) != test.proxied {
			t.Errorf("NO_PROXY=%s, %s: %v; want it through the proxy: %v", test.rule, test.host, err, test.proxied)
		}
		if err == nil {
			<-asked
		}
	}
}

func TestGet(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("/ten", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0123456789")) })
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/round", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.whl"), []byte("wheel"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := read(t, source.Config{FindLinks: []string{dir}}).Downloader()
	defer d.Close()
	get := func(address string, most int64) (string, error) {
		var b bytes.Buffer
		_, err := d.Get(t.Context(), address, "", &b, most)
		return b.String(), err
	}
	if got, err := get(server.URL+"/ten", 10); got != "0123456789" || err != nil {
		t.Errorf("ten bytes: %q, %v", got, err)
	}
	for address, want := range map[string]error{
		"/ten":     source.ErrTooLarge,
		"/endless": source.ErrTooLarge,
		"/round":   source.ErrUnreachable,
		"/file":    source.ErrUnreachable,
	} {
		if _, err := get(server.URL+address, 9); !errors.Is(err, want) || strings.Contains(err.Error(), server.URL) {
			t.Errorf("%s: %v, want %v without the address", address, err, want)
		}
	}
	_, err := get(server.URL+"/none", 9)
	if status, ok := errors.AsType[*source.StatusError](err); !ok || status.Code != http.StatusNotFound {
		t.Errorf("none: %v", err)
	}
	if got, err := get("file://"+dir+"/x.whl", 9); got != "wheel" || err != nil {
		t.Errorf("a file of the folder: %q, %v", got, err)
	}
	for _, address := range []string{"file:///etc/passwd", "file://" + dir + "/../x.whl", "file://" + dir + "/no.whl", "ftp://h/x", "x.whl", ":"} {
		if got, err := get(address, 1<<20); err == nil {
			t.Errorf("%s: %q", address, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Get(ctx, server.URL+"/ten", "", &bytes.Buffer{}, 10); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}
