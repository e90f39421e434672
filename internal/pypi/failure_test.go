package pypi_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
)

// oddities is an index with what cannot be installed.
func oddities(t *testing.T) *indextest.Index {
	x := indextest.New(t)
	x.Add(t, indextest.Wheel{Name: "fine", Version: "1.0"})
	x.AddFile("source", indextest.File{Name: "source-1.0.tar.gz", Bytes: sdist(t, "source")})
	x.Add(t, indextest.Wheel{Name: "needs-source", Version: "1.0", Requires: []string{"source"}})
	x.Add(t, indextest.Wheel{Name: "needs-nothing", Version: "1.0", Requires: []string{"does-not-exist"}})
	x.Add(t, indextest.Wheel{Name: "mixed", Version: "1.0", Tag: "cp38-cp38-manylinux_2_17_x86_64"})
	x.Add(t, indextest.Wheel{Name: "mixed", Version: "2.0"})
	x.Add(t, indextest.Wheel{Name: "windows", Version: "1.0", Tag: "cp314-cp314-win_amd64"})
	x.Add(t, indextest.Wheel{Name: "elder", Version: "1.0", Tag: "cp38-cp38-manylinux_2_17_x86_64"})
	x.Add(t, indextest.Wheel{Name: "snake", Version: "1.0", RequiresPython: ">=3.99"})
	add := func(name string, f indextest.File) {
		w := indextest.Wheel{Name: name, Version: "1.0"}
		f.Name, f.Bytes = w.File(), w.Bytes(t)
		x.AddFile(name, f)
	}
	add("withdrawn", indextest.File{Yanked: "</a> secret words of the author"})
	add("today", indextest.File{Uploaded: time.Now().UTC().Format(time.RFC3339)})
	add("forged", indextest.File{SHA256: strings.Repeat("0", 64)})
	add("nosum", indextest.File{SHA256: "none"})
	x.AddFile("broken", indextest.File{Name: "broken-1.0-py3-none-any.whl", Bytes: []byte("this is no archive")})
	return x
}

// mark is what the build of sdist makes.
func mark(t *testing.T) string {
	return filepath.Join(os.TempDir(), "pypi-test-executed-"+filepath.Base(t.Name()))
}

// sdist is a source distribution whose build leaves a mark.
func sdist(t *testing.T, name string) []byte {
	t.Helper()
	return indextest.Source{Name: name, Version: "1.0", Files: map[string]string{
		"PKG-INFO": "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0\n",
		"setup.py": "open(" + quote(mark(t)) + ", 'w').close()\nfrom setuptools import setup\nsetup(name='" + name + "', version='1.0')\n",
	}}.Bytes(t)
}

func TestRefusals(t *testing.T) {
	extent.Slow(t)
	x := oddities(t)
	b := open(t, from(x))
	for _, test := range []struct {
		id, ask string
		want    string // a regular expression
	}{
		{"PKG-09", "no-such-thing", `^the package index has no package named "no-such-thing"; look at the spelling`},
		{"PKG-09", "today", `^today 1.0 was published on \d{4}-\d\d-\d\d, too short a time ago to be installed: .*\(--exclude-newer\)`},
		{"PKG-12", "source", `^source 1.0 comes as source only, and only wheels are installed here \(--source-builds\)$`},
		{"PKG-10", "needs-source", `^source 1.0 comes as source only`},
		{"missing dependency", "needs-nothing", `no package named "does-not-exist", which needs-nothing needs`},
		{"another version has a wheel", "mixed<2", `^mixed.* has no wheel for Python 3.14 on this machine.*; version 2.0 has one$`},
		{"other system", "windows", `^windows 1.0 has no wheel for Python 3.14 on this machine \(version 1.0 has some for win_amd64\)$`},
		{"other Python", "elder", `^elder 1.0 has no wheel for Python 3.14 on this machine \(version 1.0 has some for cp38\)$`},
		{"other Python by its own word", "snake", `snake.* (?:does not support|has no wheel for) Python 3.14`},
		{"no such version", "fine>=7", `^no version of the package fits fine >=7: only fine 1.0 is available$`},
		{"no such exact version", "fine==7", `there is no version of fine 7`},
		{"contradiction", "fine>3,<2", `do not go together`},
		{"yanked", "withdrawn", `^withdrawn 1.0 was withdrawn by its authors \(yanked\)`},
		{"hash mismatch", "forged", `^forged 1.0 is not installed: what came is not what the package index announced`},
		{"no archive", "broken", `^broken-1.0-py3-none-any.whl is not as wheels must be`},
	} {
		t.Run(test.id+" "+test.ask, func(t *testing.T) {
			got := b.refused(t, test.ask)
			if !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("message %q, want %s", got, test.want)
			}
			if strings.Contains(got, "secret words") || strings.Contains(got, "127.0.0.1") {
				t.Errorf("message %q shows what is not ours", got)
			}
		})
	}
	if _, err := os.Stat(mark(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("PKG-10: the build of a source distribution ran: %v", err)
	}
	// A refusal harms nobody else.
	if got := b.install(t, "a", pypi.Lock{}, "fine").Lock.String(); got != "fine 1.0" {
		t.Errorf("installed %q", got)
	}
	if r := b.install(t, "b", pypi.Lock{}, "withdrawn==1.0"); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "yanked") {
		t.Errorf("warnings %q", r.Warnings)
	}
	// uv has read a wheel whose digest the index does not tell; what comes must be the same.
	if got := b.install(t, "c", pypi.Lock{}, "nosum").Lock.String(); got != "nosum 1.0" {
		t.Errorf("installed %q", got)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// An index without upload times must not turn every package into "not found".
func TestIndexWithoutTimes(t *testing.T) {
	extent.Long(t)
	for _, form := range []string{"JSON", "HTML"} {
		t.Run(form, func(t *testing.T) {
			x := shop(t)
			x.NoTimes, x.HTML = true, form == "HTML"
			b := open(t, from(x))
			r := b.install(t, "a", pypi.Lock{}, "top")
			if r.Lock.String() != "leaf 2.0, top 1.0" || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "--exclude-newer") {
				t.Errorf("installed %q with %q", r.Lock, r.Warnings)
			}
			if r := b.install(t, "b", pypi.Lock{}, "tool"); len(r.Warnings) != 0 {
				t.Errorf("said again: %q", r.Warnings)
			}
		})
	}
}

// On an index where some files have times and others not, the rule goes on for those that
// have.
func TestSomeTimes(t *testing.T) {
	extent.Slow(t)
	x := oddities(t)
	w := indextest.Wheel{Name: "timeless", Version: "1.0", Requires: []string{"timeless-too"}}
	x.AddFile(w.Name, indextest.File{Name: w.File(), Bytes: w.Bytes(t), Uploaded: "never"})
	w = indextest.Wheel{Name: "timeless-too", Version: "1.0"}
	x.AddFile(w.Name, indextest.File{Name: w.File(), Bytes: w.Bytes(t), Uploaded: "never"})
	b := open(t, from(x))
	if got := b.install(t, "a", pypi.Lock{}, "timeless", "fine").Lock.String(); got != "fine 1.0, timeless 1.0, timeless-too 1.0" {
		t.Errorf("installed %q", got)
	}
	if got := b.refused(t, "timeless", "today"); !strings.Contains(got, "today 1.0 was published") {
		t.Errorf("message %q", got)
	}
}

// Where one of two indexes gives no times, the rule goes on for the other.
func TestTimesOfTwoIndexes(t *testing.T) {
	extent.Slow(t)
	private := shop(t)
	private.NoTimes = true
	public := oddities(t)
	b := open(t, func(c *pypi.Config) {
		c.IndexURL, c.ExtraIndexURLs = public.URL(), []string{private.URL()}
	})
	if got := b.install(t, "a", pypi.Lock{}, "top", "fine").Lock.String(); got != "fine 1.0, leaf 2.0, top 1.0" {
		t.Errorf("installed %q", got)
	}
	if got := b.refused(t, "top", "today"); !strings.Contains(got, "--exclude-newer") {
		t.Errorf("a young package beside: %q", got)
	}
}

// PKG-28: the public package of the same name is not taken.
func TestPKG28NoOtherIndexInstead(t *testing.T) {
	extent.Long(t)
	public := shop(t)
	for name, change := range map[string]func(x *indextest.Index){
		"401": func(x *indextest.Index) { x.User, x.Password = "somebody", "else's password" },
		"403": func(x *indextest.Index) { x.Before = answer(http.StatusForbidden) },
		"500": func(x *indextest.Index) { x.Before = answer(http.StatusInternalServerError) },
		"no answer": func(x *indextest.Index) {
			x.Before = func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			private := shop(t)
			change(private)
			b := open(t, func(c *pypi.Config) {
				c.IndexURL, c.ExtraIndexURLs = public.URL(), []string{private.Server.URL + "/simple"}
			})
			got := b.refused(t, "top")
			if !strings.Contains(got, "the package index") || name[0] < 'a' && !strings.Contains(got, name) {
				t.Errorf("message %q", got)
			}
		})
	}
}

func answer(code int) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "no", code)
		return true
	}
}

func TestUnreachableIndex(t *testing.T) {
	extent.Long(t)
	x := shop(t)
	b := open(t, from(x))
	x.Server.Close()
	if got := b.refused(t, "top"); !strings.Contains(got, "cannot be reached") {
		t.Errorf("message %q", got)
	}
	if r := b.install(t, "a", pypi.Lock{}); len(r.Lock.Packages) != 0 {
		t.Errorf("an empty environment has %s", r.Lock)
	}
}

// The password goes to the index and into nothing that comes out.
func TestCredentials(t *testing.T) {
	extent.Long(t)
	x := shop(t)
	x.User, x.Password = "user", "p4ssw0rd/with@signs"
	secret := url.UserPassword(x.User, x.Password).String()
	address := strings.Replace(x.Server.URL, "://", "://"+secret+"@", 1) + "/simple"
	other := indextest.New(t)
	for name, change := range map[string]func(c *pypi.Config){
		"setting": func(c *pypi.Config) { c.IndexURL = address },
		"extra":   func(c *pypi.Config) { c.IndexURL, c.ExtraIndexURLs = other.URL(), []string{address} },
		"uv's":    func(c *pypi.Config) { c.Environ = append(c.Environ, "UV_DEFAULT_INDEX="+address) },
		"pip's":   func(c *pypi.Config) { c.Environ = append(c.Environ, "PIP_INDEX_URL="+address) },
		"a name of uv": func(c *pypi.Config) {
			c.Environ = append(c.Environ, "UV_DEFAULT_INDEX=my-corp="+x.Server.URL+"/simple", "UV_INDEX_MY_CORP_USERNAME=user", "UV_INDEX_MY_CORP_PASSWORD="+x.Password)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, change)
			r := b.install(t, "a", pypi.Lock{}, "top")
			if r.Lock.String() != "leaf 2.0, top 1.0" {
				t.Errorf("installed %q", r.Lock)
			}
			_, err := b.Install(t.Context(), pypi.Request{Folder: b.env("x"), Requirements: []string{"old-friend", "new-friend"}})
			d, describeErr := b.Describe(t.Context())
			for what, text := range map[string]string{"lock": r.Lock.Packages[0].URL, "error": err.Error(), "sources": d.Sources, "log": b.log.String()} {
				if strings.Contains(text, "p4ss") {
					t.Errorf("the %s has the password: %s", what, text)
				}
			}
			if describeErr != nil || !strings.Contains(d.UV, "set by --uv") {
				t.Errorf("Describe: %+v, %v", d, describeErr)
			}
		})
	}
}

// Credentials are for the index alone, also when it sends us elsewhere.
func TestCredentialsStayWithTheirOrigin(t *testing.T) {
	files := shop(t)
	leaked := make(chan string, 10)
	files.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if h := r.Header.Get("Authorization"); h != "" {
			leaked <- h
		}
		return false
	}
	for _, how := range []string{"link", "redirect"} {
		x := shop(t)
		x.User, x.Password = "user", "password"
		if how == "link" {
			x.FilesAt = files.Server.URL
		} else {
			x.Before = func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.HasPrefix(r.URL.Path, "/files/") {
					return false
				}
				http.Redirect(w, r, files.Server.URL+r.URL.Path, http.StatusFound)
				return true
			}
		}
		b := open(t, from(x))
		if got := b.install(t, "a", pypi.Lock{}, "leaf").Lock.String(); got != "leaf 2.0" {
			t.Errorf("%s: installed %q", how, got)
		}
	}
	select {
	case h := <-leaked:
		t.Errorf("another server got %q", h)
	default:
	}
}

// PKG-29.
func TestPKG29CertificateOfACompany(t *testing.T) {
	extent.Long(t)
	x, authority := indextest.NewTLS(t)
	x.Add(t, indextest.Wheel{Name: "fine", Version: "1.0"})
	b := open(t, from(x))
	if got := b.refused(t, "fine"); !strings.Contains(got, "certificate") || !strings.Contains(got, "--ca-bundle") {
		t.Errorf("message %q", got)
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(bundle, authority, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(c *pypi.Config){
		"setting":  func(c *pypi.Config) { c.CABundle = bundle },
		"variable": func(c *pypi.Config) { c.Environ = append(c.Environ, "SSL_CERT_FILE="+bundle) },
		"pip's":    func(c *pypi.Config) { c.Environ = append(c.Environ, "PIP_CERT="+bundle) },
	} {
		b := open(t, func(c *pypi.Config) { c.IndexURL = x.URL(); change(c) })
		if got := b.install(t, "a", pypi.Lock{}, "fine").Lock.String(); got != "fine 1.0" {
			t.Errorf("%s: installed %q", name, got)
		}
	}
}

// An index that only a proxy can reach.
func TestProxy(t *testing.T) {
	x := shop(t)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "index.invalid" {
			http.Error(w, "not through me", http.StatusBadGateway)
			return
		}
		x.ServeHTTP(w, r)
	}))
	defer proxy.Close()
	x.FilesAt = "http://index.invalid"
	b := open(t, func(c *pypi.Config) {
		c.IndexURL, c.Environ = "http://index.invalid/simple", []string{"HTTP_PROXY=" + proxy.URL}
	})
	if got := b.install(t, "a", pypi.Lock{}, "top").Lock.String(); got != "leaf 2.0, top 1.0" {
		t.Errorf("installed %q", got)
	}
}

func TestFoldersOfWheels(t *testing.T) {
	extent.Long(t)
	dir := indextest.Folder(t, indextest.Wheel{Name: "top", Version: "1.0", Requires: []string{"leaf"}}, indextest.Wheel{Name: "leaf", Version: "3.0"})
	x := shop(t)
	for name, change := range map[string]func(c *pypi.Config){
		"no index":        func(c *pypi.Config) { c.FindLinks, c.NoIndex = []string{dir}, true },
		"pip's variables": func(c *pypi.Config) { c.Environ = append(c.Environ, "PIP_NO_INDEX=1", "PIP_FIND_LINKS="+dir) },
		"two folders": func(c *pypi.Config) {
			c.FindLinks, c.NoIndex = []string{indextest.Folder(t), dir}, true
		},
		"beside an index": func(c *pypi.Config) { c.FindLinks, c.IndexURL = []string{dir}, x.URL() },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, change)
			r := b.install(t, "a", pypi.Lock{}, "top")
			if r.Lock.String() != "leaf 3.0, top 1.0" || len(r.Warnings) != 0 {
				t.Errorf("installed %q with %q", r.Lock, r.Warnings)
			}
			if got := b.refused(t, "no-such-thing"); !strings.Contains(got, "no-such-thing") {
				t.Errorf("message %q", got)
			}
		})
	}
	t.Run("a new wheel is seen", func(t *testing.T) {
		b := open(t, func(c *pypi.Config) { c.FindLinks, c.NoIndex = []string{dir}, true })
		b.install(t, "a", pypi.Lock{}, "leaf")
		w := indextest.Wheel{Name: "leaf", Version: "4.0"}
		if err := os.WriteFile(filepath.Join(dir, w.File()), w.Bytes(t), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := b.install(t, "b", pypi.Lock{}, "leaf").Lock.String(); got != "leaf 4.0" {
			t.Errorf("installed %q", got)
		}
	})
}

func TestBadSettings(t *testing.T) {
	for want, change := range map[string]func(c *pypi.Config){
		"package index":  func(c *pypi.Config) { c.IndexURL = "file:///etc" },
		"--find-links":   func(c *pypi.Config) { c.FindLinks = []string{"/no/such/folder"} },
		"--packages":     func(c *pypi.Config) { c.Mode = "some" },
		"--deny-package": func(c *pypi.Config) { c.Deny = []string{"a b"} },
		"certificates":   func(c *pypi.Config) { c.CABundle = "/no/such/file" },
		"no index":       func(c *pypi.Config) { c.NoIndex = true },
	} {
		c := config(t, t.TempDir(), &strings.Builder{})
		change(&c)
		in, err := pypi.Open(t.Context(), c)
		if err == nil {
			in.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open: %v, want %q", err, want)
		}
	}
}
