package config_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"runpython/internal/config"
	"runpython/internal/egress"
)

// environ returns the lookup of an environment that has only these variables.
func environ(pairs ...string) config.Lookup {
	vars := map[string]string{"HOME": "/home/ada"}
	for _, p := range pairs {
		name, value, _ := strings.Cut(p, "=")
		vars[name] = value
	}
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// load reads args as a command would that has every setting.
func load(env config.Lookup, args ...string) (config.Config, error) {
	flags := config.NewFlags(config.Default(env))
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.AddCommon(fs)
	flags.AddOf("serve", fs)
	flags.AddOf("chat", fs)
	if err := fs.Parse(args); err != nil {
		return config.Config{}, err
	}
	return flags.Load(env)
}

// file writes text as a file of settings.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	got, err := load(environ())
	if err != nil {
		t.Fatal(err)
	}
	want := config.Config{
		Data:        "/home/ada/.local/share/runpython",
		RunTimeout:  time.Minute,
		MemoryBytes: 1 << 30,
		Processes:   64,
		OpenFiles:   1024,
		WorkBytes:   1 << 30,
		CPUs:        float64(runtime.NumCPU()),
		Pool:        2,
		HostTools:   true,

		Database:   config.NewSecret(config.DatabaseSQLite),
		Idle:       10 * time.Minute,
		Keep:       720 * time.Hour,
		MaxChats:   10_000,
		MaxStorage: 100 << 30,
		AuditBytes: 1 << 30,

		Packages:          config.PackagesAuto,
		SourceBuilds:      true,
		ExcludeNewer:      72 * time.Hour,
		InstallTimeout:    2 * time.Minute,
		PackageBytes:      512 << 20,
		EnvironmentBytes:  4 << 30,
		PackageCacheBytes: 20 << 30,

		ModelProtocol: config.ProtocolAuto,
		ModelRequests: 4,
		MaxTokens:     500_000,
		MaxRuns:       8,
		TurnTimeout:   5 * time.Minute,

		Repeat:   1,
		Parallel: 1,

		Lines: 20,

		Format: "ipynb",

		LogFormat: config.FormatText,
		LogLevel:  slog.LevelInfo,
		Listen:    "127.0.0.1:8000",
		Discovery: config.DiscoveryPublic,
		Clients:   config.ClientsOpen,
		Expires:   90 * 24 * time.Hour,
		Scope:     config.ScopeRun,

		OIDCScopes:      []string{"openid", "email", "profile"},
		OIDCGroupsClaim: "groups",
		OIDCPasswords:   config.PasswordsOn,

		AddressConnections:   1000,
		AddressRequests:      3000,
		AddressSignIns:       60,
		AddressRegistrations: 60,
		UserCalls:            600,
		UserRuns:             16,
		UserChats:            1000,
		UserStorage:          20 << 30,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config.Secret{}, egress.Policy{})); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func TestDataDirectory(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  config.Lookup
		args []string
		want string
	}{
		{"XDG", environ("XDG_DATA_HOME=/data"), nil, "/data/runpython"},
		{"relative XDG is ignored", environ("XDG_DATA_HOME=data"), nil, "/home/ada/.local/share/runpython"},
		{"flag", environ("HOME="), []string{"--data", "/srv/x/../y"}, "/srv/y"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(tt.env, tt.args...)
			if err != nil || c.Data != tt.want {
				t.Errorf("Data = %q, %v; want %q", c.Data, err, tt.want)
			}
		})
	}
	t.Run("relative is made absolute", func(t *testing.T) {
		c, err := load(environ(), "--data", "state")
		if err != nil || !filepath.IsAbs(c.Data) || filepath.Base(c.Data) != "state" {
			t.Errorf("Data = %q, %v; want an absolute path", c.Data, err)
		}
	})
	t.Run("no home", func(t *testing.T) {
		if _, err := load(environ("HOME=")); err == nil || !strings.Contains(err.Error(), "--data") {
			t.Errorf("error = %v; want one that names --data", err)
		}
	})
}

// Each source wins over those before it, for values and for lists.
func TestPrecedence(t *testing.T) {
	path := file(t, "memory: 2GiB\nprocesses: 10\nopen-files: 100\nfile: [a, b]\n")
	env := environ("RUNPYTHON_PROCESSES=20", "RUNPYTHON_OPEN_FILES=200", "RUNPYTHON_CONFIG="+path, "RUNPYTHON_FILE=")
	c, err := load(env, "--open-files=300")
	if err != nil {
		t.Fatal(err)
	}
	if c.MemoryBytes != 2<<30 || c.Processes != 20 || c.OpenFiles != 300 {
		t.Errorf("memory, processes, open files = %d, %d, %d; want file, environment, flag: %d, 20, 300",
			c.MemoryBytes, c.Processes, c.OpenFiles, 2<<30)
	}
	if diff := cmp.Diff([]string{"a", "b"}, c.Files); diff != "" {
		t.Errorf("Files (-want +got):\n%s", diff)
	}
	if c, err = load(env, "--file=x", "--file=y"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x", "y"}, c.Files); diff != "" {
		t.Errorf("Files with flags (-want +got):\n%s", diff)
	}
}

// The edges of each range are inside; what is next to them is refused in
// words that have the range.
func TestRanges(t *testing.T) {
	cpus := runtime.NumCPU()
	for _, tt := range []struct {
		name   string
		good   []string
		bad    []string
		within string
	}{
		{"run-timeout", []string{"1s", "24h", "1h30m", "1500ms"}, []string{"0s", "999ms", "24h1s", "60", "-5s", "forever", ""}, "1s to 24h"},
		{"memory", []string{"64MiB", "1TiB", "1g", "1.5GiB", "67108864", "100 MB"}, []string{"63MiB", "1025GiB", "1e9", "-1g", "NaN", "1.2345678B", "", "g", "1..5g", "1 gig", "99999999999999999999"}, "64MiB to 1TiB"},
		{"work-size", []string{"1MiB", "1TiB", "1048576"}, []string{"1048575", "2TiB"}, "1MiB to 1TiB"},
		{"processes", []string{"4", "4096"}, []string{"3", "4097", "1.5", "many", "0x10", "99999999999999999999"}, "4 to 4096"},
		{"open-files", []string{"64", "65536"}, []string{"63", "65537"}, "64 to 65536"},
		{"cpus", []string{"0.1", "0.5", fmt.Sprint(cpus)}, []string{"0", "0.09", "-1", fmt.Sprint(cpus + 1), "NaN", "Inf", "all"}, fmt.Sprintf("0.1 to %d", cpus)},
		{"pool", []string{"0", "64"}, []string{"-1", "65"}, "0 to 64"},
		{"database", []string{"sqlite", "postgres://u:p@host/db", "postgresql:///db?host=/run"}, []string{"", "mysql://host/db", "chats.db", "sqlite://x", "host/db"}, ""},
		{"idle", []string{"1s", "10m", "876000h"}, []string{"0s", "999ms", "876001h"}, "1s to 876000h"},
		{"keep", []string{"1m", "720h", "876000h"}, []string{"0s", "59s", "876001h"}, "60s to 876000h"},
		{"max-chats", []string{"1", "1000000"}, []string{"0", "1000001"}, "1 to 1000000"},
		{"max-storage", []string{"1MiB", "1024TiB"}, []string{"1048575", "1025TiB"}, "1MiB to 1024TiB"},
		{"log-format", []string{"text", "json"}, []string{"xml", "JSON", ""}, "text, json"},
		{"log-level", []string{"debug", "info", "warn", "error"}, []string{"trace", "INFO", "info+1"}, "debug, info, warn, error"},
		{"host-tools", []string{"true", "false"}, []string{"maybe", "yes"}, "true or false"},
		{"auth", []string{"none", "oauth", ""}, []string{"basic"}, "none"},
		{"discovery", []string{"public", "private"}, []string{"", "none"}, "public, private"},
		{"client-registration", []string{"open", "documents", "manual"}, []string{"", "off"}, "open, documents, manual"},
		{"public-url", []string{"", "https://run.example.org", "https://run.example.org:8443/", "https://run.example.org/mcp", "http://127.0.0.1:8000", "http://localhost", "http://[::1]:1", "https://xn--bcher-kva.example"},
			[]string{"run.example.org", "http://run.example.org", "https://", "https://u@h", "https://h/x", "https://h/?q", "https://h/#f", "ftp://h", "https://h\x00", "https://b\u00fccher.example", "https://h:0", "https://h:65536", "https://[fe80::1%25eth0]x"}, ""},
		{"listen", []string{"127.0.0.1:0", "[::1]:65535", "localhost:80", "0.0.0.0:1"}, []string{"127.0.0.1", ":http", "127.0.0.1:65536", "example.org:80", "127.0.0.1:-1", ""}, ""},
		{"trusted-proxy", []string{"10.0.0.5", "10.0.0.0/8", "::1", "fd00::/8", "0.0.0.0/1"},
			[]string{"0.0.0.0/0", "::/0", "proxy", "10.0.0.0/33", "fe80::1%eth0", "::ffff:10.0.0.0/104", ""}, ""},
		{"allow-host", []string{"run.example.org", "box", "10.0.0.7", "xn--bcher-kva.example"},
			[]string{"https://run.example.org", "run.example.org:8000", "*", "a b", "b\u00fccher.example", "", strings.Repeat("x", 254)}, "without scheme and port"},
		{"client-document-host", []string{"apps.example.org", "10.0.0.7:8443", "[fd00::7]", "[::1]:8443", "APPS.example.org:443"},
			[]string{"", "https://apps.example.org", "apps.example.org/x", "u@h", "h:0", "h:65536", "h:x", "::1", "h?q", "a b", strings.Repeat("x", 254)}, ""},
		{"admin-listen", []string{"", "127.0.0.1:9000"}, []string{"9000"}, "IP:PORT"},
		{"runsc", []string{"/bin/sh", ""}, []string{"/no/such/runsc", "/etc/passwd", "/tmp"}, "executable file"},
		{"data", []string{"/srv"}, []string{"", "~/x", "a\x00b", "a\nb", "\xff", strings.Repeat("x", 5000)}, ""},
		{"chat", []string{"abc"}, []string{"a\x1b[2J"}, "control"},
		{"packages", []string{"auto", "listed", "off"}, []string{"on", ""}, "auto, listed, off"},
		{"deny-package", []string{"pandas", "zope.interface", "a", "Typing_Extensions"}, []string{"pandas>=2", "-e", "a b", "a-", "", "../a", "é"}, "name of a package"},
		{"preload", []string{"", "numpy", "numpy,pandas", "pandas>=2,<4, matplotlib", "requests[socks,security]==2.*,tqdm"}, []string{",", "numpy,,pandas", "numpy,", ">=2,numpy", "--index-url=http://x", "a @ http://b", "../x", strings.Repeat("a,", 101) + "a"}, ""},
		{"exclude-newer", []string{"0s", "72h", "87600h"}, []string{"3 days", "-1h", "87601h"}, "0s to 87600h"},
		{"install-timeout", []string{"1s", "1h"}, []string{"0s", "61m"}, "1s to 1h"},
		{"package-size", []string{"1MiB"}, []string{"0", "2TiB"}, "1MiB to 1TiB"},
		{"ca-bundle", []string{"/etc/passwd", ""}, []string{"/no/such/file", "/tmp"}, "file that exists"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range tt.good {
				if _, err := load(environ(), "--"+tt.name+"="+v); err != nil {
					t.Errorf("--%s=%s: %v", tt.name, v, err)
				}
			}
			for _, v := range tt.bad {
				_, err := load(environ(), "--"+tt.name+"="+v)
				wrong, ok := errors.AsType[*config.Error](err)
				if !ok {
					t.Errorf("--%s=%s: error %v; want a config.Error", tt.name, v, err)
					continue
				}
				if wrong.Where != "--"+tt.name || !strings.Contains(wrong.Reason, tt.within) {
					t.Errorf("--%s=%s: %q at %q; want the range %q", tt.name, v, wrong.Reason, wrong.Where, tt.within)
				}
				if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x00\x1b\n") {
					t.Errorf("--%s: message is long or raw: %q", tt.name, err)
				}
			}
		})
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{
		"1g": 1 << 30, "1G": 1 << 30, "1GiB": 1 << 30, "1gib": 1 << 30, "1GB": 1e9, "1.5g": 3 << 29,
		"512MiB": 512 << 20, "524288K": 512 << 20, "1073741824": 1 << 30, "1073741824B": 1 << 30, "0.5 TiB": 1 << 39,
	} {
		c, err := load(environ(), "--memory", text)
		if err != nil || c.MemoryBytes != want {
			t.Errorf("--memory %s = %d, %v; want %d", text, c.MemoryBytes, err, want)
		}
	}
	for bytes, want := range map[int64]string{0: "0B", 1: "1B", 1023: "1023B", 1 << 10: "1KiB", 3 << 29: "1536MiB", 1 << 40: "1TiB", math.MaxInt64: "9223372036854775807B"} {
		if got := config.FormatSize(bytes); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestEveryMistakeIsToldAtOnce(t *testing.T) {
	path := file(t, "# settings\nmemroy: 1GiB\npool: -1\n")
	_, err := load(environ("RUNPYTHON_CPUS=none"), "--config", path, "--processes", "1")
	want := []string{
		path + `:2: memroy: unknown setting; did you mean "memory"?`,
		path + `:3: pool "-1": must be a whole number from 0 to 64`,
		`RUNPYTHON_CPUS "none": must be a number from`,
		`--processes "1": must be a whole number from 4 to 4096`,
	}
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("error = %v\nwant in it: %s", err, w)
		}
	}
}

func TestEmptyVariableIsUnset(t *testing.T) {
	c, err := load(environ("RUNPYTHON_MEMORY=", "RUNPYTHON_CONFIG=", "RUNPYTHON_LOG_LEVEL=debug"))
	if err != nil || c.MemoryBytes != 1<<30 || c.LogLevel != slog.LevelDebug {
		t.Errorf("memory, level = %d, %v, %v; want the default and debug", c.MemoryBytes, c.LogLevel, err)
	}
}

func TestRebase(t *testing.T) {
	flags := config.NewFlags(config.Default(environ()))
	flags.Rebase(func(c *config.Config) { c.LogLevel = slog.LevelWarn })
	if c, err := flags.Load(environ()); err != nil || c.LogLevel != slog.LevelWarn {
		t.Errorf("LogLevel = %v, %v; want the command's default", c.LogLevel, err)
	}
	if c, err := flags.Load(environ("RUNPYTHON_LOG_LEVEL=info")); err != nil || c.LogLevel != slog.LevelInfo {
		t.Errorf("LogLevel = %v, %v; want the variable's", c.LogLevel, err)
	}
}

// Flag, variable and key are one name, and help has all that the table knows.
func TestHelp(t *testing.T) {
	flags := config.NewFlags(config.Default(environ()))
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.AddCommon(fs)
	flags.AddOf("serve", fs)
	flags.AddOf("chat", fs)
	flags.AddOf("create", fs)
	flags.AddOf("register", fs)
	fs.VisitAll(func(f *pflag.Flag) {
		variable := "[RUNPYTHON_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "]"
		if !strings.HasSuffix(f.Usage, variable) {
			t.Errorf("help of --%s is %q; want %s in it", f.Name, f.Usage, variable)
		}
		if strings.Contains(f.Usage, "`") { // what stands between such marks would be shown as what the flag takes
			t.Errorf("help of --%s is %q, with a name of its value in it", f.Name, f.Usage)
		}
	})
	text := fs.FlagUsages()
	for _, want := range []string{
		"--run-timeout TIME ", "1s to 24h [RUNPYTHON_RUN_TIMEOUT] (default 60s)",
		"--memory SIZE ", "64MiB to 1TiB [RUNPYTHON_MEMORY] (default 1GiB)",
		"--host-tools ", "(default true)", "(default 127.0.0.1:8000)", "(default info)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("help lacks %q:\n%s", want, text)
		}
	}
}

func TestServeAddresses(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string // in the error; "" when it is fine
	}{
		{"--listen=127.0.0.1:0", ""},
		{"--listen=127.9.9.9:1", ""},
		{"--listen=[::1]:1", ""},
		{"--listen=[::ffff:127.0.0.1]:1", ""},
		{"--listen=localhost:1", ""},
		{"--listen=0.0.0.0:1", "--auth none"},
		{"--listen=:1", "--auth none"},
		{"--listen=192.168.1.2:1", "--public-url https://NAME"},
		{"--listen=[::]:1", "--auth none"},
		{"--listen=0.0.0.0:1 --auth=none", ""},
		{"--listen=0.0.0.0:1 --public-url=https://h", ""},
		{"--listen=0.0.0.0:1 --public-url=https://h --auth=oauth", ""},
		{"--listen=0.0.0.0:1 --public-url=https://h --auth=none", ""},
		{"--listen=0.0.0.0:1 --auth=oauth", "needs --public-url"},
		{"--listen=127.0.0.1:1 --auth=oauth", "needs --public-url"},
		{"--admin-listen=0.0.0.0:1 --public-url=https://h", ""},
		{"--admin-listen=0.0.0.0:1", "--admin-listen"},
		{"--listen=127.0.0.1:9 --admin-listen=127.0.0.1:9", "must not be"},
		{"--listen=127.0.0.1:0 --admin-listen=127.0.0.1:0", ""},
	} {
		c, err := load(environ(), strings.Fields(tt.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.CheckServe(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.args, err, tt.want)
		}
	}
	for args, want := range map[string][]string{
		"--listen=0.0.0.0:1 --admin-listen=127.0.0.1:2 --auth=none": {"0.0.0.0:1"},
		"--listen=0.0.0.0:1 --public-url=https://h":                 nil,
		"--listen=127.0.0.1:1 --public-url=https://h --auth=none":   {"https://h"},
		"--listen=127.0.0.1:1":                                      nil,
		"--listen=127.0.0.1:1 --domain=h --auth=none":               {"h"},
		"--domain=h --auth=none":                                    {":443"},
		"--domain=h":                                                nil,
	} {
		c, err := load(environ(), strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.OpenToAll()); diff != "" {
			t.Errorf("OpenToAll of %s (-want +got):\n%s", args, diff)
		}
	}
}

func TestPublicURL(t *testing.T) {
	for text, want := range map[string]string{
		"HTTPS://Run.Example.org:443/mcp/": "https://run.example.org", "https://h:8443/": "https://h:8443", "http://[::1]:80": "http://[::1]", "": "",
	} {
		c, err := load(environ(), "--public-url="+text)
		if err != nil || c.PublicURL != want || c.SignIn() != (want != "") {
			t.Errorf("--public-url=%s = %q, %v; want %q", text, c.PublicURL, err, want)
		}
	}
}

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "1h": time.Hour, "1825d": 1825 * 24 * time.Hour} {
		f := config.NewFlags(config.Default(environ()))
		fs := pflag.NewFlagSet("create", pflag.ContinueOnError)
		f.AddOf("create", fs)
		if err := fs.Parse([]string{"--expires=" + text}); err != nil {
			t.Fatal(err)
		}
		c, err := f.Load(environ("RUNPYTHON_DATA", "/srv"))
		if err != nil || c.Expires != want {
			t.Errorf("--expires=%s = %v, %v; want %v", text, c.Expires, err, want)
		}
	}
	for _, text := range []string{"90", "5m", "0d", "1826d", "-1d", "d", "1.5d", "99999999999999999999d", "43801h"} {
		f := config.NewFlags(config.Default(environ()))
		fs := pflag.NewFlagSet("create", pflag.ContinueOnError)
		f.AddOf("create", fs)
		if err := fs.Parse([]string{"--expires=" + text}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Load(environ("RUNPYTHON_DATA", "/srv")); err == nil || !strings.Contains(err.Error(), "such as 90d or 12h, from 1h to 1825d") {
			t.Errorf("--expires=%s: %v; want what it may be", text, err)
		}
	}
}

func TestSuggest(t *testing.T) {
	names := []string{"memory", "pool", "cpus"}
	for name, want := range map[string]string{
		"memroy": `; did you mean "memory"?`, "cpu": `; did you mean "cpus"?`, "pol": `; did you mean "pool"?`,
		"network": "", "x": "", "": "", strings.Repeat("m", 1000): "",
	} {
		if got := config.Suggest(name, names); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", name, got, want)
		}
	}
}
