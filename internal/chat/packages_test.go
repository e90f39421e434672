package chat_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/pypi/wheel"
)

// shelf is an index whose packages have one module each, of the same name unless a name here
// says otherwise. "NAME==VERSION" asks for another version than 1.
type shelf struct {
	modules map[string]string
	fails   map[string]error
	needs   map[string]string // what else a package needs
	wait    chan struct{}     // closed when an install is under way that waits for the end of its call

	mu       sync.Mutex
	requests []pypi.Request // without Progress
	busy     map[string]bool
}

func newShelf() *shelf {
	return &shelf{
		modules: map[string]string{"pillow": "PIL", "scikit-learn": "sklearn"},
		fails: map[string]error{
			"nowhere": fault.New(fault.Invalid, nil, `the package index has no package named "nowhere"`),
			"offline": fault.New(fault.Unsupported, nil, "the package index cannot be reached"),
			"broken":  errors.New("the reason is in the log"),
		},
		busy: map[string]bool{},
	}
}

// Install makes a file for each module, as a package would.
func (s *shelf) Install(ctx context.Context, r pypi.Request) (pypi.Report, error) {
	s.mu.Lock()
	twice := s.busy[r.Folder]
	s.busy[r.Folder] = true
	progress := r.Progress
	r.Progress = nil
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy[r.Folder] = false
	}()
	if twice {
		return pypi.Report{}, errors.New("two installs in one environment")
	}
	if len(r.Installed.Packages) == 0 {
		r.Installed = r.Shared
	}
	for _, requirement := range r.Requirements {
		if more := s.needs[requirement]; more != "" {
			r.Requirements = append(r.Requirements, more)
		}
	}
	report := pypi.Report{Lock: pypi.Lock{Requirements: append([]string{}, r.Installed.Requirements...)}}
	versions := map[string]string{}
	for _, p := range r.Installed.Packages {
		versions[p.Name] = p.Version
	}
	order := append([]pypi.Package{}, r.Installed.Packages...)
	for _, requirement := range r.Requirements {
		name, version, _ := strings.Cut(requirement, "==")
		if name == "slow" {
			close(s.wait)
			<-ctx.Done()
			return pypi.Report{}, fault.New(fault.Canceled, ctx.Err(), "the install was stopped")
		}
		if err := s.fails[name]; err != nil {
			return pypi.Report{}, err
		}
		progress("downloading " + name)
		p := pypi.Package{Pin: wheel.Pin{Name: name, Version: version}, Imports: []string{s.module(name)}}
		if version == "" {
			p.Version = "1"
		}
		report.Lock.Requirements = append(report.Lock.Requirements, requirement)
		switch was, ok := versions[name]; {
		case !ok:
			report.Added = append(report.Added, p)
			order = append(order, p)
		case version == "" || was == version:
			report.Present = append(report.Present, requirement)
			continue
		default:
			report.Changed = append(report.Changed, pypi.Change{Package: p, From: was})
		}
		versions[name] = p.Version
	}
	for _, p := range order {
		p.Version = versions[p.Name]
		report.Lock.Packages = append(report.Lock.Packages, p)
		if err := os.WriteFile(filepath.Join(r.Folder, s.module(p.Name)), nil, 0o600); err != nil {
			return pypi.Report{}, err
		}
	}
	return report, nil
}

func (s *shelf) module(name string) string {
	if module := s.modules[name]; module != "" {
		return module
	}
	return name
}

// taken returns the requirements of each install so far.
func (s *shelf) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, r := range s.requests {
		all = append(all, strings.Join(r.Requirements, " "))
	}
	s.requests = nil
	return all
}

// withShelf returns a service whose chats get packages of a shelf.
func withShelf(t *testing.T) (*chat.Service, *shelf) {
	t.Helper()
	index := newShelf()
	s, w := newService(t, func(o *chat.Options) { o.Packages = index })
	w.packages = true
	return s, index
}

// want compares the parts of a reply about packages.
func want(t *testing.T, r *chat.Reply, isError bool, packages []chat.Package, text ...string) {
	t.Helper()
	if diff := cmp.Diff(packages, r.Packages); diff != "" || r.IsError != isError {
		t.Errorf("error %v, packages (-want +got):\n%s%s", r.IsError, diff, r.Text)
	}
	for _, part := range text {
		if !strings.Contains(r.Text, part) {
			t.Errorf("the text lacks %q:\n%s", part, r.Text)
		}
	}
}

func TestImportsAreInstalled(t *testing.T) {
	s, index := withShelf(t)
	var steps []string
	r, err := s.Turn(t.Context(), chat.Request{Message: do("import PIL sklearn.tree pandas"), Progress: func(p chat.Progress) { steps = append(steps, p.Step) }})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, true, []chat.Package{{Name: "pillow", Version: "1"}, {Name: "scikit-learn", Version: "1"}, {Name: "pandas", Version: "1"}},
		"Installed pillow 1, scikit-learn 1, pandas 1.", "No module named 'sklearn.tree'")
	wantSteps := []string{
		"starting", "running", "installing pillow, scikit-learn, pandas",
		"downloading pillow", "downloading scikit-learn", "downloading pandas", "running", "saving",
	}
	if diff := cmp.Diff(wantSteps, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	id := r.ChatID
	want(t, ask(t, s, id, "import PIL"), false, nil)
	// A new interpreter has what the chat had.
	ask(t, s, id, "lose")
	index.taken()
	r = ask(t, s, id, "import PIL pandas")
	want(t, r, false, nil, "told of")
	if got := index.taken(); len(got) != 1 || got[0] != "" {
		t.Errorf("installs for the new interpreter %q; want one without requirements", got)
	}
}

func TestPackagesThatCannotBeHad(t *testing.T) {
	s, index := withShelf(t)
	t.Run("PKG-09 an invented one beside others", func(t *testing.T) {
		r := ask(t, s, "", "import nowhere pandas StringIO")
		want(t, r, true, []chat.Package{{Name: "pandas", Version: "1"}}, "Installed pandas 1.", "No module named 'nowhere'",
			`Not installed, although the code imports it: the package index has no package named "nowhere".`, "Not installed: StringIO is of Python 2")
		if len(r.Problems) != 2 {
			t.Errorf("problems %q", r.Problems)
		}
	})
	t.Run("one that ends the tries", func(t *testing.T) {
		r := ask(t, s, "", "import nowhere pandas offline late later")
		want(t, r, true, []chat.Package{{Name: "pandas", Version: "1"}}, "the package index cannot be reached.", "Not tried after that: late, later;")
	})
	t.Run("more reasons than are told", func(t *testing.T) {
		r := ask(t, s, "", "import StringIO distutils imp RPi win32api urllib2 nowhere")
		if n := len(r.Problems); n != 6 || !strings.Contains(r.Text, "2 reasons are left out here.") {
			t.Errorf("%d problems:\n%s", n, r.Text)
		}
	})
	t.Run("no index", func(t *testing.T) {
		index.taken()
		want(t, ask(t, s, "", "import offline pandas"), true, nil, "the package index cannot be reached.", "No module named 'offline'")
		if got := index.taken(); len(got) != 1 {
			t.Errorf("installs %q; want one try", got)
		}
		want(t, ask(t, s, "", "set x"), false, nil)
	})
	t.Run("asked for by name", func(t *testing.T) {
		r, err := s.Turn(t.Context(), chat.Request{Message: "!pip install nowhere pandas\n" + do("crash")})
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, true, nil, "Nothing was run", `no package named "nowhere".`)
		if r.ChatID != "" || len(r.Runs) != 0 || r.State != chat.New {
			t.Errorf("chat %q, %d runs, state %s; want no chat", r.ChatID, len(r.Runs), r.State)
		}
	})
	t.Run("in a chat that goes on", func(t *testing.T) {
		id := ask(t, s, "", "set x").ChatID
		r, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: "!pip install broken\n" + do("crash")})
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, true, nil, "Nothing was run")
		if r.ChatID != id || r.State != chat.Kept || strings.Contains(r.Text, "the reason is in the log") {
			t.Errorf("chat %q, state %s:\n%s", r.ChatID, r.State, r.Text)
		}
		want(t, ask(t, s, id, "get x"), false, nil)
	})
	t.Run("too many", func(t *testing.T) {
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("many%d", i))
		}
		r := ask(t, s, "", "import "+strings.Join(names, " "))
		if len(r.Packages) != 32 || !strings.Contains(r.Text, "and 22 more.") || !strings.Contains(r.Text, "8 of them are left out") {
			t.Errorf("%d packages:\n%s", len(r.Packages), r.Text)
		}
	})
	t.Run("off", func(t *testing.T) {
		s, _ := newService(t, nil)
		want(t, ask(t, s, "", "import pandas"), true, nil, "this server installs no packages (--packages off)")
		r, err := s.Turn(t.Context(), chat.Request{Message: "!pip install pandas"})
		if err != nil {
			t.Fatal(err)
		}
		want(t, r, true, nil, "Nothing was run", "--packages off")
	})
}

func TestPKG15AnotherVersion(t *testing.T) {
	s, _ := withShelf(t)
	id := ask(t, s, "", "import six").ChatID
	r, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: "!pip install six==2\n" + do("import six")})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r, false, []chat.Package{{Name: "six", Version: "2", Was: "1"}}, "Installed six 2 (it was 1).", "told of six")
	if r, err = s.Turn(t.Context(), chat.Request{ChatID: id, Message: "!pip install six"}); err != nil {
		t.Fatal(err)
	}
	want(t, r, false, nil, "There already: six.")
}

// The end of the call ends an install, and the chat goes on.
func TestInstallIsStopped(t *testing.T) {
	s, index := withShelf(t)
	id := ask(t, s, "", "set x").ChatID
	for _, message := range []string{"!pip install slow\n" + do("crash"), do("import slow")} {
		index.wait = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := context.AfterFunc(t.Context(), cancel)
		go func() {
			<-index.wait
			cancel()
		}()
		r, err := s.Turn(ctx, chat.Request{ChatID: id, Message: message})
		stopped()
		if kind, _ := fault.Shown(err); kind != fault.Canceled && (r == nil || !strings.Contains(r.Text, "because the call was stopped")) {
			t.Errorf("%q: %v, %+v; want it stopped", message, err, r)
		}
	}
	want(t, ask(t, s, id, "get x"), false, nil)
}

// A chat keeps what it has installed in its record, as another process would find it.
func TestPackagesAreInTheRecord(t *testing.T) {
	database, index := records(t), newShelf()
	same := func(o *chat.Options) { o.Store, o.Packages = database, index }
	s, w := newService(t, same)
	w.packages = true
	id := ask(t, s, "", "import six").ChatID
	later, w := newService(t, same)
	w.packages = true
	index.taken()
	r := ask(t, later, id, "import six")
	want(t, r, false, nil, "told of")
	if got := index.taken(); len(got) != 1 || got[0] != "" {
		t.Errorf("installs %q; want that of the chat's packages", got)
	}
}
