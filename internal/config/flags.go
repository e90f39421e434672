package config

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// configFlag names the file of settings; it is not a setting itself.
const configFlag = "config"

// Flags collects what the command line says until Load puts all sources together.
type Flags struct {
	base  Config
	path  *flag // of the file
	given map[string]*flag
}

// NewFlags returns an empty collection over base, the defaults.
func NewFlags(base Config) *Flags {
	return &Flags{base: base, given: make(map[string]*flag)}
}

// Rebase changes the defaults, for a command whose own differ. Help keeps
// showing those of NewFlags.
func (f *Flags) Rebase(change func(*Config)) { change(&f.base) }

// AddCommon adds the flags that all commands have to fs.
func (f *Flags) AddCommon(fs *pflag.FlagSet) {
	f.path = &flag{arg: "FILE"}
	fs.Var(f.path, configFlag, "YAML file of settings; its keys are the names of the flags ["+variable(configFlag)+"]")
	for _, s := range settings() {
		if s.on == nil {
			f.add(fs, s)
		}
	}
}

// AddOf adds the flags that only some commands have, for one of them.
func (f *Flags) AddOf(command string, fs *pflag.FlagSet) {
	for _, s := range settings() {
		if s.on != nil && s.has(command) {
			f.add(fs, s)
		}
	}
}

// add adds one flag. Commands that share a setting share what was given for
// it, as only one command runs.
func (f *Flags) add(fs *pflag.FlagSet, s setting) {
	v := f.given[s.name]
	if v == nil {
		v = &flag{arg: s.arg, list: s.reset != nil, initial: s.get(&f.base)}
		f.given[s.name] = v
	}
	fs.VarP(v, s.name, s.short, s.help())
	if s.arg == "" {
		fs.Lookup(s.name).NoOptDefVal = "true"
	}
}

// Load puts defaults, file, environment and flags together. The file is named by
// --config or RUNPYTHON_CONFIG. An empty variable counts as unset. Its error joins
// an [Error] for each wrong setting of every source, also of one that a later
// source overrules.
func (f *Flags) Load(env Lookup) (Config, error) {
	c := f.base
	c.Listen = "" // until it is known whether somebody has set it
	var errs []error
	if path := f.file(env); path != "" {
		errs = append(errs, applyFile(&c, path))
	}
	for _, s := range settings() {
		name := variable(s.name)
		if text, _ := env(name); text != "" {
			errs = append(errs, source(&c, s, name, text))
		}
	}
	for _, s := range settings() {
		if v := f.given[s.name]; v != nil && len(v.values) > 0 {
			errs = append(errs, source(&c, s, "--"+s.name, v.values...))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Config{}, err
	}
	c.listenWhere(f.base.Listen)
	c.reachedWhere()
	if c.Data == "" {
		return Config{}, &Error{Where: "--data", Reason: "must be given, since the environment names no home directory"}
	}
	return c, nil
}

// source applies the values of one setting that stand at where.
func source(c *Config, s setting, where string, values ...string) error {
	if value, err := s.apply(c, values...); err != nil {
		return &Error{Where: where, Value: value, Reason: err.Error()}
	}
	return nil
}

// file returns the path of the file of settings, "" when none is named.
func (f *Flags) file(env Lookup) string {
	if f.path != nil && len(f.path.values) > 0 {
		return f.path.values[0]
	}
	path, _ := env(variable(configFlag))
	return path
}

// A flag is the pflag.Value of a setting: it keeps the text, which Load checks
// with that of the other sources, so that all are refused in the same words.
type flag struct {
	arg     string
	list    bool
	initial string
	values  []string
}

// String returns the default before the command line is read, else what it gave.
func (v *flag) String() string {
	if len(v.values) == 0 {
		return v.initial
	}
	return v.values[len(v.values)-1]
}

// Set keeps text; the last one counts unless the setting is a list.
func (v *flag) Set(text string) error {
	if !v.list {
		v.values = v.values[:0]
	}
	if len(v.values) > maxListed {
		return fmt.Errorf("more than %d times", maxListed)
	}
	v.values = append(v.values, text)
	return nil
}

// Type returns what the flag takes, for help; pflag knows a switch by "bool".
func (v *flag) Type() string {
	if v.arg == "" {
		return "bool"
	}
	return v.arg
}
