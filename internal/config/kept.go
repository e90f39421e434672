package config

// The formats of exports.
const (
	FormatIPYNB = "ipynb"
	FormatPy    = "py"
)

// keptSettings are those of the commands about chats that are kept.
func keptSettings() []setting {
	out := entry("out", word("FILE"), "write to this file instead of standard output", []string{export},
		func(c *Config) *string { return &c.Out })
	out.short = "o"
	return []setting{
		entry("format", choice(FormatIPYNB, FormatPy), "form of the export", []string{export},
			func(c *Config) *string { return &c.Format }),
		out,
		entry("run", boolean(), "have the first turn execute the cells before", []string{take},
			func(c *Config) *bool { return &c.Replay }),
		entry("force", boolean(), "replace a file that is there", []string{export, backup},
			func(c *Config) *bool { return &c.Force }),
		entry("yes", boolean(), "delete or remove without asking", []string{remove, erase, passkeys},
			func(c *Config) *bool { return &c.Yes }),
	}
}
