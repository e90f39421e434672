package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/names"
)

// wanted is how many of the most downloaded packages the page has.
const wanted = 100

// The list is that of package names, without a gap, as long as it takes to have so many that
// somebody imports; and each is found by its import name.
func TestPackages(t *testing.T) {
	list, err := packages()
	if err != nil {
		t.Fatal(err)
	}
	popular, err := os.ReadFile(filepath.Join("..", "names", "data", "popular.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var most []string
	count := 0
	for _, p := range list {
		if !p.other {
			most = append(most, p.name)
			if p.module != "" {
				count++
			}
		}
		if got, _ := names.Distribution(p.module); p.module != "" && bare(got) != p.name {
			t.Errorf("import %s asks for %q, want %s", p.module, got, p.name)
		}
	}
	if diff := cmp.Diff(strings.Fields(string(popular))[:len(most)], most); diff != "" {
		t.Errorf("packages.txt (-popular.txt +packages.txt):\n%s", diff)
	}
	if count != wanted {
		t.Errorf("%d of the most downloaded are imported, want %d", count, wanted)
	}
}

func TestCompare(t *testing.T) {
	rows := []row{{fresh: visit{found: found{Offers: map[string][]string{
		"PyYAML":     {"yaml", "tests"},
		"made-up":    {"yaml", "never_heard_of", "google.cloud.storage"},
		"setuptools": {"setuptools", "distutils_stub.part"},
	}}}}}
	got := compare(rows, "easy_install\tsetuptools\npkg_resources\tsetuptools<82\nyaml\tpyyaml\ndistutils_stub\tsetuptools\n")
	want := comparison{wheels: 3, agree: 2, differing: []difference{
		{"yaml", "made-up", "pyyaml", true},
		{"never_heard_of", "made-up", "never-heard-of", true},
		{"google.cloud.storage", "made-up", "google-cloud-storage", true},
		{"distutils_stub.part", "setuptools", "distutils-stub", true},
		{"easy_install", "setuptools", "setuptools", false},
	}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(comparison{}, difference{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What packages.txt says of a package, and what became of it, are held against each other.
func TestSurprises(t *testing.T) {
	good, bad := visit{}, visit{failure: "no"}
	for _, test := range []struct {
		r    row
		want string
	}{
		{row{listed{name: "a"}, good, good}, ""},
		{row{listed{name: "a", why: "broken"}, bad, bad}, ""},
		{row{listed{name: "a"}, bad, good}, "a cannot be imported, and packages.txt does not say why: no"},
		{row{listed{name: "a"}, good, bad}, "a cannot be imported, and packages.txt does not say why: no"},
		{row{listed{name: "a", why: "broken"}, good, good}, "a can be imported, packages.txt says that it cannot: broken"},
	} {
		got := ""
		if err := surprises([]row{test.r}); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.r, got, test.want)
		}
	}
}

func TestSection(t *testing.T) {
	rows := []row{
		{
			listed{name: "numpy", module: "numpy"},
			visit{call: 3 * time.Second, found: found{Seconds: 1, Version: "2.0", Offers: map[string][]string{"numpy": nil}}},
			visit{call: time.Second, found: found{Seconds: 0.25}},
		},
		{listed{name: "torch", module: "torch", why: "too large", other: true}, visit{call: time.Second, failure: "refused"}, visit{call: time.Second, failure: "refused"}},
	}
	want := part{Rows: []string{"| 1 | numpy | `numpy` | 2.0 | 1 | 2.00 | 1.00 | 0.75 | 0.25 | imported |"}, Fresh: "3.00", Again: "1.00"}
	if diff := cmp.Diff(want, section(rows, false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	others := section(rows, true)
	if others.Good() != 0 || !slices.Equal(others.Failed, []string{"`torch`: too large. The answer said: “refused”"}) {
		t.Errorf("%+v", others)
	}
}
