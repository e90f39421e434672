package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/pypi/indextest"
)

// awaitPool waits until a guest is in the pool.
func awaitPool(t *testing.T, a *app.App) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for app.Pooled(a) < 1 {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatal("the pool stays empty")
		}
	}
}

const loaded = "import sys\nsorted(n for n in sys.modules if n in ('six', 'cowsay', 'needy'))"

// New chats have the packages of the operator imported, in the versions that belong together; who asks for others
// gets those, and chats do not disturb each other. The second start needs no index.
func TestPreload(t *testing.T) {
	extent.Long(t)
	wheels := wheelFolder(t)
	data := guesttest.Data(t)
	from := fromFolder(t, wheels)
	change := func(c *config.Config, b *app.Build) {
		from(c, b)
		c.Preload, c.Pool = []string{"six==1.15.0", "cowsay"}, 1
	}
	t.Run("first start", func(t *testing.T) {
		a := openAt(t, data, change)
		for _, s := range preloadScenarios {
			awaitPool(t, a)
			t.Run(s.name, func(t *testing.T) { s.play(t, a) })
		}
	})
	entries, err := os.ReadDir(wheels)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // all that is needed is kept
		if err := os.Remove(filepath.Join(wheels, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("second start", func(t *testing.T) {
		a := openAt(t, data, change)
		awaitPool(t, a)
		preloadScenarios[0].play(t, a)
	})
}

// What chats do with six 1.15.0 and cowsay ahead.
var preloadScenarios = []scenario{
	{"loaded", []step{
		{send: loaded, value: "['cowsay', 'six']"},
		{send: "import six, cowsay\nsorted(n for n in globals() if n[0] != '_'), six.__version__", value: "(['cowsay', 'six', 'sys'], '1.15.0')", never: []string{"nstalled"}},
		{send: "!pip install six\n1", value: "1", text: []string{"There already: six."}},
	}},
	{"another version, later", []step{
		{send: "import cowsay, six"},
		{send: "import needy", text: []string{"needy 1.0", "cowsay 5.0 (it was 6.1)", "cowsay: loaded before another version was installed"}},
		{send: "cowsay.__version__", value: "'6.1'"},
	}},
	{"another version, by name", []step{
		{send: "!pip install six==1.16.0\nimport six; six.__version__", value: "'1.16.0'", text: []string{"Installed six 1.16.0."}, never: []string{"loaded before", "it was"}},
		{send: loaded, value: "['six']"},
		{send: loseGuest, failure: []string{"The variables are lost"}},
		{send: "import six, cowsay; six.__version__, cowsay.__version__", value: "('1.16.0', '6.1')", state: chat.Reset, never: []string{"loaded before"}},
	}},
	{"another version, for what is imported", []step{
		{send: "import needy, cowsay, sys\nprint('once')\ncowsay.__version__, 'six' in sys.modules", stdout: "once\n", value: "('5.0', False)", text: []string{"needy 1.0", "cowsay 5.0"}, never: []string{"it was", "loaded before"}},
	}},
}

// What is wrong with the setting stops the start in one line.
func TestPreloadIsRefused(t *testing.T) {
	extent.Long(t)
	from := fromFolder(t, wheelFolder(t))
	for name, test := range map[string]struct {
		change func(*config.Config)
		want   string
	}{
		"unknown":      {func(c *config.Config) { c.Preload = []string{"cowsay", "cowsay-pro-max"} }, `no package named "cowsay-pro-max"`},
		"denied":       {func(c *config.Config) { c.Preload, c.DenyPackages = []string{"needy"}, []string{"cowsay"} }, "cowsay is refused"},
		"not listed":   {func(c *config.Config) { c.Preload, c.Packages = []string{"six"}, config.PackagesListed }, "six is refused"},
		"packages off": {func(c *config.Config) { c.Preload, c.Packages = []string{"six"}, config.PackagesOff }, "--packages off"},
		"no such one":  {func(c *config.Config) { c.Preload = []string{"six>=9"} }, "six"},
	} {
		t.Run(name, func(t *testing.T) {
			c := unset()
			b := build(t)
			from(&c, &b)
			c.Data, c.Pool = guesttest.Data(t), 0
			test.change(&c)
			a, err := app.Open(t.Context(), c, guesttest.Log(t), b)
			if err == nil {
				err = a.Close()
				t.Fatalf("it starts; %v", err)
			}
			kind, shown := fault.Shown(err)
			if kind != fault.Invalid || err.Error() != shown || !strings.HasPrefix(shown, "--preload: ") || !strings.Contains(shown, test.want) || strings.Contains(shown, "\n") {
				t.Errorf("Open = %v: %q, want one line with %q", err, shown, test.want)
			}
		})
	}
}

// An index that cannot be reached does not keep the server from starting.
func TestPreloadWithoutAnIndex(t *testing.T) {
	extent.Long(t)
	address := deadIndex(t)
	uv := indextest.UV(t)
	var c config.Config
	var b app.Build
	a := openAt(t, guesttest.Data(t), func(settings *config.Config, build *app.Build) {
		settings.Packages, settings.UV, settings.IndexURL, build.Environ = config.PackagesAuto, uv, config.NewSecret(address), []string{"NO_PROXY=127.0.0.1"}
		settings.Preload, settings.Pool = []string{"pandas"}, 1
		c, b = *settings, *build
	})
	awaitPool(t, a)
	if r := send(t, a, chat.Request{Message: "1 + 1"}); r.IsError || r.Runs[0].Value != "2" {
		t.Errorf("without the preload: %s", r.Text)
	}
	if f := finding(t, c, b, "preload"); f.Level != app.Less || !strings.Contains(f.Detail, "cannot be reached") {
		t.Errorf("the doctor says %+v", f)
	}
}

// finding returns what the doctor finds of one thing.
func finding(t *testing.T, c config.Config, b app.Build, name string) app.Finding {
	t.Helper()
	all := app.Doctor(t.Context(), c, b)
	i := slices.IndexFunc(all, func(f app.Finding) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("the doctor says nothing of %s: %+v", name, all)
	}
	return all[i]
}

// The doctor builds nothing, and does not call wrong what the server will build.
func TestDoctorOfAPreloadThatIsBuilt(t *testing.T) {
	extent.Long(t)
	change := fromFolder(t, sources(t, indextest.BackendSource("reporter", "1.0", "")))
	for _, test := range []struct {
		builds bool
		level  app.Level
		want   string
	}{
		{true, app.Fine, "has no wheel and is built then"},
		{false, app.Broken, "--source-builds"},
	} {
		c := unset()
		b := build(t)
		change(&c, &b)
		c.Data, c.Pool, c.Preload, c.SourceBuilds = guesttest.Data(t), 0, []string{"reporter"}, test.builds
		if f := finding(t, c, b, "preload"); f.Level != test.level || !strings.Contains(f.Detail, test.want) {
			t.Errorf("builds %v: the doctor says %+v", test.builds, f)
		}
	}
}

// The packages that most people come for, from the real index.
func TestPreloadFromTheRealIndex(t *testing.T) {
	extent.Long(t)
	uv := indextest.UV(t)
	a := openAt(t, guesttest.Data(t), func(c *config.Config, b *app.Build) {
		c.Packages, c.UV, b.Environ = config.PackagesAuto, uv, os.Environ()
		c.Preload, c.Pool = []string{"numpy", "pandas", "matplotlib"}, 1
	})
	awaitPool(t, a)
	needIndex(t, send(t, a, chat.Request{Message: "!pip install six\n1"}))
	awaitPool(t, a)
	scenario{"", []step{
		{send: "import sys\n[n in sys.modules for n in ('numpy', 'pandas', 'matplotlib.pyplot')]", value: "[True, True, True]"},
		{send: "import pandas as pd, matplotlib.pyplot as plt\npd.Series([1, 2]).plot(title='数据')\nint(pd.Series([1, 2]).sum())", value: "3", images: 1, never: []string{"nstalled"}},
		{send: "import requests, numpy\nrequests.__name__", value: "'requests'", text: []string{"Installed requests "}, never: []string{"numpy", "pandas"}},
	}}.play(t, a)
}
