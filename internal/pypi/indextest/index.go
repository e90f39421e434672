package indextest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A File is one file of a package on an index.
type File struct {
	Name           string
	Bytes          []byte
	Uploaded       string // "2020-01-02T00:00:00Z"; "" is long ago, "never" is none
	Yanked         string // the reason
	SHA256         string // what the index says; "" is the true one, "none" is none
	RequiresPython string
	HideSize       bool
}

// An Index is a package index on loopback. Change its fields before it is asked.
type Index struct {
	Server         *httptest.Server
	HTML           bool   // PEP 503 instead of PEP 691
	NoTimes        bool   // no upload times, as many mirrors have it
	User, Password string // are wanted, if not empty
	FilesAt        string // URL of another Index that serves the files; "" is this one

	// Before, if not nil, may answer a request itself and then returns true.
	Before func(w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex // guards what follows
	packages map[string][]File
	asked    []string
}

// New returns an empty Index, which ends with the test.
func New(t testing.TB) *Index {
	x := &Index{packages: map[string][]File{}}
	x.Server = httptest.NewServer(x)
	t.Cleanup(x.Server.Close)
	return x
}

// URL returns the address to configure, with credentials if they are wanted.
func (x *Index) URL() string {
	if x.User != "" {
		scheme, rest, _ := strings.Cut(x.Server.URL, "://")
		return scheme + "://" + x.User + ":" + x.Password + "@" + rest + "/simple"
	}
	return x.Server.URL + "/simple"
}

// Add puts a wheel on the index.
func (x *Index) Add(t testing.TB, w Wheel) {
	t.Helper()
	x.AddFile(w.Name, File{Name: w.File(), Bytes: w.Bytes(t), RequiresPython: w.RequiresPython})
}

// AddFile puts any file on the index.
func (x *Index) AddFile(name string, f File) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.packages[name] = append(x.packages[name], f)
}

// Asked returns the paths that were asked for.
func (x *Index) Asked() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]string(nil), x.asked...)
}

// Forget makes Asked begin anew.
func (x *Index) Forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = nil
}

// ServeHTTP answers as an index does.
func (x *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	x.asked = append(x.asked, r.URL.Path)
	x.mu.Unlock()
	if x.Before != nil && x.Before(w, r) {
		return
	}
	if user, password, _ := r.BasicAuth(); x.User != "" && (user != x.User || password != x.Password) {
		w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	x.mu.Lock()
	files, known := x.packages[parts[min(1, len(parts)-1)]]
	x.mu.Unlock()
	switch {
	case len(parts) == 2 && parts[0] == "simple" && known:
		x.list(w, parts[1], files)
	case len(parts) == 3 && parts[0] == "files":
		for _, f := range files {
			if f.Name == parts[2] {
				http.ServeContent(w, r, f.Name, time.Time{}, bytes.NewReader(f.Bytes))
				return
			}
		}
		http.NotFound(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (x *Index) list(w http.ResponseWriter, name string, files []File) {
	base := x.Server.URL
	if x.FilesAt != "" {
		base = x.FilesAt
	}
	if x.HTML {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><html><body>")
		for _, f := range files {
			fmt.Fprintf(w, "<a href=%q%s>%s</a>\n", base+"/files/"+name+"/"+f.Name+f.fragment(), f.attributes(), html.EscapeString(f.Name))
		}
		return
	}
	var list []map[string]any
	for _, f := range files {
		list = append(list, x.entry(base, name, f))
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"meta": map[string]string{"api-version": "1.1"}, "name": name, "versions": []string{}, "files": list,
	})
}

func (x *Index) entry(base, name string, f File) map[string]any {
	e := map[string]any{"filename": f.Name, "url": base + "/files/" + name + "/" + f.Name, "hashes": map[string]string{}}
	if sum := f.sum(); sum != "" {
		e["hashes"] = map[string]string{"sha256": sum}
	}
	if !f.HideSize {
		e["size"] = len(f.Bytes)
	}
	if f.Yanked != "" {
		e["yanked"] = f.Yanked
	}
	if f.RequiresPython != "" {
		e["requires-python"] = f.RequiresPython
	}
	switch {
	case x.NoTimes, f.Uploaded == "never":
	case f.Uploaded == "":
		e["upload-time"] = "2020-01-01T00:00:00Z"
	default:
		e["upload-time"] = f.Uploaded
	}
	return e
}

func (f File) sum() string {
	switch f.SHA256 {
	case "":
		return SHA256(f.Bytes)
	case "none":
		return ""
	}
	return f.SHA256
}

func (f File) fragment() string {
	if sum := f.sum(); sum != "" {
		return "#sha256=" + sum
	}
	return ""
}

func (f File) attributes() string {
	text := ""
	if f.Yanked != "" {
		text += fmt.Sprintf(" data-yanked=%q", f.Yanked)
	}
	if f.RequiresPython != "" {
		text += fmt.Sprintf(" data-requires-python=%q", html.EscapeString(f.RequiresPython))
	}
	return text
}

// Folder writes wheels into a folder of the test and returns it.
func Folder(t testing.TB, wheels ...Wheel) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range wheels {
		if err := os.WriteFile(filepath.Join(dir, w.File()), w.Bytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
