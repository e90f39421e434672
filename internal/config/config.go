// Package config gives the program its settings: one [Config] that is built
// from defaults, then a file, then the environment, then flags, the later
// winning over the earlier.
//
// Every setting is one entry of the table in settings.go. From it come the
// flag, the variable RUNPYTHON_<NAME>, the key of the file, the range and the
// help text, so the four cannot drift apart.
//
// # Trust
//
// All sources belong to whoever starts the program and are believed, but not to
// be free of mistakes: an unknown key, a wrong type and a value out of
// range are refused before anything starts. Nothing here is read from a guest
// or a caller.
//
// # Failure
//
// Every wrong setting is an [Error] that names where it stands and what would be
// right; all of them are reported at once. An unreadable file is an [Error] too.
package config

import (
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"runpython/internal/egress"
)

// Config is everything that a person can set. A setting that is a secret, or may have
// one in it, has type [Secret].
type Config struct {
	Data        string        // absolute directory of all state, "" only when the environment names no home
	RunTimeout  time.Duration // longest run
	MemoryBytes int64         // memory of one guest
	Processes   int           // processes and threads of one guest
	OpenFiles   int           // open files of one process of a guest
	WorkBytes   int64         // size of /work of one guest
	CPUs        float64       // processors of one guest
	Pool        int           // guests that are kept ready
	Runsc       string        // absolute path of a runsc to use instead of the one inside, or ""
	HostTools   bool          // whether guests see the host's /bin and /usr/bin
	Egress      egress.Policy // where code may connect

	// Of the chats that are kept.

	Database   Secret        // DatabaseSQLite, or the URL of a PostgreSQL database
	Idle       time.Duration // an interpreter that nobody uses for so long is freed; its variables come back from the disk
	Keep       time.Duration // a chat that nobody uses for so long is deleted
	MaxChats   int           // the one unused longest is deleted
	MaxStorage int64         // bytes of all chats; the one unused longest is deleted
	AuditBytes int64         // of the audit log; its oldest files are removed

	// Of packages.

	Packages          string        // PackagesAuto, PackagesListed or PackagesOff
	UV                string        // absolute path of uv, "" to look for one
	IndexURL          Secret        // empty: what the variables of uv and pip say
	ExtraIndexURLs    []Secret      // asked before it
	FindLinks         []string      // folders of wheels, URLs
	NoIndex           bool          // only FindLinks
	CABundle          string        // PEM file, ""
	AllowPackages     []string      // names
	DenyPackages      []string      // names
	Preload           []string      // requirements (PEP 508) of what new chats have imported already
	SourceBuilds      bool          // whether packages without a wheel are built, in guests
	ExcludeNewer      time.Duration // least age of what is installed, 0 for any
	InstallTimeout    time.Duration // longest install
	PackageBytes      int64         // of one wheel
	EnvironmentBytes  int64         // packages of one chat
	PackageCacheBytes int64         // of the cache of packages

	// Of the language model.

	Model         string         // VENDOR/NAME, a name beside ModelURL, "none", or "" for whatever there is
	ModelURL      string         // of a server that speaks OpenAI's chat completions, ""
	ModelKeyFile  string         // absolute path of the file with the key, "" for the variables
	ModelProtocol string         // ProtocolAuto, ProtocolTools or ProtocolFenced
	ModelExtra    map[string]any // merged into the body of each request
	ModelContext  int            // tokens of the window, 0 for the vendor's usual one
	ModelImages   bool           // whether the model is shown pictures
	ModelRequests int            // at once
	ModelPrices   Prices         // of a million tokens
	MaxCost       float64        // of a turn, 0 for no bound
	MaxTokens     int            // of a turn, 0 for no bound
	MaxRuns       int            // of a turn
	TurnTimeout   time.Duration  // of a turn with a model

	LogFormat string     // FormatText or FormatJSON
	LogLevel  slog.Level // the least level that is logged

	// Of serve.

	Listen        string   // host:port of the MCP endpoint; port 0 is any free one
	AllowHosts    []string // names, without port, under which clients may reach it beside its addresses
	AdminListen   string   // host:port of health and metrics, or ""
	PublicURL     string   // URL under which clients reach the server, without a path and a slash at the end; "" for none. Load takes that of Domains
	Auth          string   // "" (what the addresses ask for), AuthOAuth or AuthNone
	Discovery     string   // DiscoveryPublic or DiscoveryPrivate
	Clients       string   // ClientsOpen, ClientsDocuments or ClientsManual
	DocumentHosts []string // host:port, in lower case, from which documents of clients are fetched also when they are not in the internet

	// Of an OpenID provider that signs people in; see CheckServe.

	OIDCIssuer      string   // URL, as the provider writes it; "" for none
	OIDCClientID    string   // of this server
	OIDCSecret      Secret   // empty for none, or for the next one
	OIDCSecretFile  string   // absolute path, ""
	OIDCScopes      []string // openid among them
	OIDCName        string   // for people, "" for its host; see ProviderName
	OIDCDomains     []string // of verified addresses of e-mail, lower case
	OIDCGroups      []string
	OIDCGroupsClaim string
	OIDCEverybody   bool   // whomever the provider signs in may enter
	OIDCPasswords   string // PasswordsOn, or PasswordsOff: nobody signs in with one

	TrustedProxies []netip.Prefix // whose word on callers' addresses is taken

	// Of what each caller may do; 0 for no bound.

	AddressConnections   int   // connections of an address at once
	AddressRequests      int   // HTTP requests of an address in a minute
	AddressSignIns       int   // sign-ins of an address in a minute
	AddressRegistrations int   // clients that an address registers in an hour
	UserCalls            int   // calls of an account in a minute
	UserRuns             int   // calls of an account at once
	UserChats            int   // chats that are kept of an account; the one unused longest is deleted
	UserStorage          int64 // bytes of them; the same

	// Of TLS: neither files nor domains, or one of the two; see CheckServe.

	TLSCert    string   // PEM file of the certificate with its chain, ""
	TLSKey     string   // PEM file of its key, ""
	Domains    []string // names for which certificates are got by ACME
	HTTPListen string   // host:port of plain HTTP that leads to TLS; "" for none, HTTPAuto for what Domains ask for
	ACMEURL    string   // directory of the server, "" for Let's Encrypt
	ACMEEmail  string   // that it may write to, ""
	ACMECA     string   // PEM file of certificates by which it is trusted, "" for the system's
	ACMEAgree  bool     // to its terms

	// Of audit.

	Lines  int    // that tail prints, 0 for all
	Follow bool   // tail goes on with those that come
	Known  string // hash of a line that verify must find, ""

	// Of eval.

	Only     string  // pattern of path.Match over the names of tasks, "" for all
	Repeat   int     // how often each task is played
	Parallel int     // attempts at once
	MinPass  float64 // part of the attempts that must pass
	OneShot  bool    // ask the model without the loop
	Prove    bool    // run the solutions of the tasks, without a model

	// Of chat, doctor and eval.

	JSON   bool     // print one JSON object
	Chat   string   // the chat to continue, or ""; as typed, not checked
	Output string   // where chat saves pictures and files, or "" for the default
	Format string   // of exports, FormatIPYNB or FormatPy
	Out    string   // file for the export, "" for standard output
	Force  bool     // replace a file that is there
	Yes    bool     // delete without asking
	Replay bool     // the first turn of an import executes the cells before
	Files  []string // files that chat puts into /work before the run

	// Of user, token and client.

	PasswordStdin bool          // read the password from standard input
	Admin         bool          // the user is an administrator
	Subject       string        // of the user at the provider of OIDCIssuer
	RemovePasskey string        // id of the passkey to remove, "" to list them
	User          string        // name of the user whose token it is
	Expires       time.Duration // how long a token is good
	Scope         string        // of a token
	RedirectURIs  []string      // of a client; checked when it is registered
	WithSecret    bool          // the client has a secret
}

// The values of Config.LogFormat.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// DatabaseSQLite is the value of Config.Database for a file in Config.Data.
const DatabaseSQLite = "sqlite"

// HTTPAuto is the value of Config.HTTPListen that means port 80 of all addresses with
// Config.Domains, and nothing without. Load replaces it.
const HTTPAuto = "auto"

// Lookup returns the value of an environment variable and whether it is set,
// as [os.LookupEnv] does. An empty variable counts as unset.
type Lookup func(name string) (string, bool)

// Environment is the Lookup of the process.
func Environment(name string) (string, bool) {
	return os.LookupEnv(name) //nolint:forbidigo // this is the place where it is read
}

// EnvironmentNames returns the names of the variables of the process that are not empty.
func EnvironmentNames() []string {
	var names []string
	for _, v := range os.Environ() { //nolint:forbidigo // this is the place where it is read
		if name, value, _ := strings.Cut(v, "="); value != "" {
			names = append(names, name)
		}
	}
	return names
}

// ProcessEnvironment returns the variables of the process, "NAME=value".
func ProcessEnvironment() []string {
	return os.Environ() //nolint:forbidigo // this is the place where it is read
}

// Default returns the settings of a program that was told nothing. The data
// directory is the user's: $XDG_DATA_HOME/runpython or ~/.local/share/runpython.
func Default(env Lookup) Config {
	return Config{
		Data:        userData(env),
		RunTimeout:  time.Minute,
		MemoryBytes: 1 << 30,
		Processes:   64,
		OpenFiles:   1024,
		WorkBytes:   1 << 30,
		CPUs:        float64(runtime.NumCPU()),
		Pool:        2,
		HostTools:   true,

		Database:   NewSecret(DatabaseSQLite),
		Idle:       10 * time.Minute,
		Keep:       30 * 24 * time.Hour,
		MaxChats:   10_000,
		MaxStorage: 100 << 30,
		AuditBytes: 1 << 30,

		Packages:          PackagesAuto,
		SourceBuilds:      true,
		ExcludeNewer:      3 * 24 * time.Hour,
		InstallTimeout:    2 * time.Minute,
		PackageBytes:      512 << 20,
		EnvironmentBytes:  4 << 30,
		PackageCacheBytes: 20 << 30,

		ModelProtocol: ProtocolAuto,
		ModelRequests: 4,
		MaxTokens:     500_000,
		MaxRuns:       8,
		TurnTimeout:   5 * time.Minute,

		Repeat:   1,
		Parallel: 1,

		Lines: 20,

		Format:    FormatIPYNB,
		LogFormat: FormatText,
		LogLevel:  slog.LevelInfo,
		Listen:    "127.0.0.1:8000",
		Discovery: DiscoveryPublic,
		Clients:   ClientsOpen,
		Expires:   90 * 24 * time.Hour,
		Scope:     ScopeRun,

		OIDCScopes:      []string{"openid", "email", "profile"},
		OIDCGroupsClaim: "groups",
		OIDCPasswords:   PasswordsOn,

		HTTPListen: HTTPAuto,

		AddressConnections:   1000,
		AddressRequests:      3000,
		AddressSignIns:       60,
		AddressRegistrations: 60,
		UserCalls:            600,
		UserRuns:             16,
		UserChats:            1000,
		UserStorage:          20 << 30,
	}
}

// userData returns the data directory of the user, "" when none is known. A
// relative $XDG_DATA_HOME is ignored, as its specification asks.
func userData(env Lookup) string {
	if dir, _ := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "runpython")
	}
	if home, _ := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "runpython")
	}
	return ""
}

// An Error is one setting that cannot be used.
type Error struct {
	Where  string // "--memory", "RUNPYTHON_MEMORY", "run.yaml:3: memory"
	Value  string // as it was given; "" when it says nothing
	Reason string // what would be right
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	if e.Value == "" {
		return e.Where + ": " + e.Reason
	}
	return e.Where + " " + quoted(e.Value) + ": " + e.Reason
}
