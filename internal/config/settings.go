package config

import (
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"runpython/internal/egress"
)

// A setting is one entry of the table. To add one:
//
//  1. add a field to Config, with its unit in the type or the name;
//  2. give it its default in Default, unless that is the zero value;
//  3. add an entry to settings: name, kind, meaning, the commands, the field.
//
// Flag, variable, key, range, help and the tests over the table follow.
type setting struct {
	name  string   // of the flag and of the key; lower case with dashes
	short string   // one letter that is the flag as well, or ""
	usage string   // one phrase, without range, variable and default
	on    []string // commands that have the flag; nil: all of them

	arg    string   // what the flag takes, for help; "" for a switch
	limits string   // the range for help, or ""
	yaml   []string // tags that the key may have
	secret bool     // a value that is refused is not shown

	set   func(c *Config, text string) error // for a list: adds one
	get   func(c *Config) string
	reset func(c *Config) // empties a list; nil when the setting is none
}

// Commands that have settings of their own.
const (
	serve  = "serve"
	chat   = "chat"
	doctor = "doctor"
	eval   = "eval"

	list   = "list" // of chats, as the next six
	show   = "show"
	export = "export"
	take   = "import"
	fork   = "fork"
	undo   = "undo"
	remove = "delete"
	backup = "backup"

	tail   = "tail" // of the audit log, as the next one
	verify = "verify"
)

// settings returns the table, in the order of help.
func settings() []setting {
	return append([]setting{
		entry("data", directory(), "directory of all state", nil,
			func(c *Config) *string { return &c.Data }),
		entry("run-timeout", duration(time.Second, 24*time.Hour), "longest time of one run", nil,
			func(c *Config) *time.Duration { return &c.RunTimeout }),
		entry("memory", size(64<<20, 1<<40), "memory of one guest", nil,
			func(c *Config) *int64 { return &c.MemoryBytes }),
		entry("processes", count(4, 4096), "processes and threads of one guest", nil,
			func(c *Config) *int { return &c.Processes }),
		entry("open-files", count(64, 65536), "open files of one process of a guest", nil,
			func(c *Config) *int { return &c.OpenFiles }),
		entry("work-size", size(1<<20, 1<<40), "size of the working directory of one guest", nil,
			func(c *Config) *int64 { return &c.WorkBytes }),
		// A cgroup cannot give less than a hundredth of a processor.
		entry("cpus", fraction(0.1, float64(runtime.NumCPU())), "processors of one guest, fractions allowed", nil,
			func(c *Config) *float64 { return &c.CPUs }),
		entry("pool", count(0, 64), "guests kept ready for new chats", nil,
			func(c *Config) *int { return &c.Pool }),
		entry("runsc", executable(), "official runsc to use instead of the gVisor inside", nil,
			func(c *Config) *string { return &c.Runsc }),
		entry("host-tools", boolean(), "show guests the host's /bin and /usr/bin, read-only; =false hides them", nil,
			func(c *Config) *bool { return &c.HostTools }),
		entry("egress", egressPolicy(), "where code may connect by name and port, through a proxy", nil,
			func(c *Config) *egress.Policy { return &c.Egress }),
		entry("database", databaseURL(), "where chats are kept: \"sqlite\" for a file in --data, or a PostgreSQL database", nil,
			func(c *Config) *Secret { return &c.Database }),
		entry("idle", duration(time.Second, 100*365*24*time.Hour), "how long an interpreter lives that nobody uses; its variables are kept on the disk then", nil,
			func(c *Config) *time.Duration { return &c.Idle }),
		entry("keep", duration(time.Minute, 100*365*24*time.Hour), "how long a chat is kept that nobody uses", nil,
			func(c *Config) *time.Duration { return &c.Keep }),
		entry("max-chats", count(1, 1_000_000), "chats that are kept; the one unused longest is deleted", nil,
			func(c *Config) *int { return &c.MaxChats }),
		entry("max-storage", size(1<<20, 1<<50), "size of all kept chats; the one unused longest is deleted", nil,
			func(c *Config) *int64 { return &c.MaxStorage }),
		entry("audit-size", size(16<<20, 1<<50), "size of the audit log; its oldest files are removed", nil,
			func(c *Config) *int64 { return &c.AuditBytes }),
		entry("log-format", choice(FormatText, FormatJSON), "form of the log on standard error", nil,
			func(c *Config) *string { return &c.LogFormat }),
		entry("log-level", level(), "least level that is logged (chat and doctor: warn)", nil,
			func(c *Config) *slog.Level { return &c.LogLevel }),

		entry("listen", address(false), "address of the MCP endpoint; port 0 takes a free one", []string{serve},
			func(c *Config) *string { return &c.Listen }),
		repeated("allow-host", hostName(), "serve clients that reach the endpoint by this name; may be repeated", []string{serve},
			func(c *Config) *[]string { return &c.AllowHosts }),
		entry("admin-listen", address(true), "address of health and metrics; none when empty", []string{serve},
			func(c *Config) *string { return &c.AdminListen }),
		entry("json", boolean(), "print one JSON object and nothing else on standard output", []string{chat, doctor, eval, list, show, take, fork, undo, passkeys},
			func(c *Config) *bool { return &c.JSON }),
		entry("chat", word("ID"), "continue this chat, also one of another process", []string{chat},
			func(c *Config) *string { return &c.Chat }),
		entry("output", word("DIR"), "save pictures and files here (default ./runpython-files/CHAT_ID)", []string{chat},
			func(c *Config) *string { return &c.Output }),
		repeated("file", word("FILE"), "put this file into /work before the run; may be repeated", []string{chat},
			func(c *Config) *[]string { return &c.Files }),
	}, slices.Concat(accessSettings(), oidcSettings(), servingSettings(), packageSettings(), modelSettings(), evalSettings(), keptSettings(), auditSettings())...)
}

// variablePrefix begins the name of each variable of a setting.
const variablePrefix = "RUNPYTHON_"

// variable returns the name of the environment variable of a setting.
func variable(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// has tells whether a command has the flag of s.
func (s setting) has(command string) bool {
	return s.on == nil || slices.Contains(s.on, command)
}

// apply gives s the values of one source, which replace those of the sources before.
func (s setting) apply(c *Config, values ...string) (refused string, err error) {
	if s.reset != nil {
		s.reset(c)
	}
	for _, v := range values {
		if err := s.set(c, v); err != nil {
			if s.secret {
				v = hidden
			}
			return v, err
		}
	}
	return "", nil
}

// help returns the meaning of s for a list of flags, which adds the default.
func (s setting) help() string {
	text := s.usage
	if s.limits != "" {
		text += ", " + s.limits
	}
	return text + " [" + variable(s.name) + "]"
}

// entry makes a setting of kind k that lives where at points.
func entry[T any](name string, k kind[T], usage string, on []string, at func(*Config) *T) setting {
	return setting{
		name: name, usage: usage, on: on,
		arg: k.arg, limits: k.limits, yaml: k.yaml, secret: k.secret,
		set: func(c *Config, text string) error {
			v, err := k.parse(text)
			if err != nil {
				return err
			}
			*at(c) = v
			return nil
		},
		get: func(c *Config) string { return k.format(*at(c)) },
	}
}

// maxListed bounds how often a repeatable setting may be given.
const maxListed = 100

// repeated makes a setting that is a list of values of kind k.
func repeated[T any](name string, k kind[T], usage string, on []string, at func(*Config) *[]T) setting {
	return setting{
		name: name, usage: usage, on: on,
		arg: k.arg, limits: k.limits, yaml: k.yaml, secret: k.secret,
		reset: func(c *Config) { *at(c) = nil },
		set: func(c *Config, text string) error {
			v, err := k.parse(text)
			if err != nil {
				return err
			}
			if len(*at(c)) == maxListed {
				return refusal("at most %d of them", maxListed)
			}
			*at(c) = append(*at(c), v)
			return nil
		},
		get: func(c *Config) string {
			texts := make([]string, len(*at(c)))
			for i, v := range *at(c) {
				texts[i] = k.format(v)
			}
			return strings.Join(texts, ":")
		},
	}
}
