package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"runpython/internal/check"
	"runpython/internal/check/report"
)

// A checkOutput is a format and where it goes, "" being standard output.
type checkOutput struct {
	format report.Format
	file   string
}

// A checkPlaces says what goes where, so that nothing is written over something else.
type checkPlaces map[string]string

// take gives a place to a form, and refuses one that is taken or cannot be written. Nothing is written by it, and a scan
// that takes a minute is not lost in the end.
func (places checkPlaces) take(form, file string) error {
	key := file
	if file != "" {
		key = filepath.Clean(file)
	}
	if other, ok := places[key]; ok {
		where := "standard output"
		if file != "" {
			where = file
		}
		return usagef("%s and %s would both go to %s; give each a file of its own, as in --format json=FILE", other, form, where)
	}
	places[key] = form
	if file == "" {
		return nil
	}
	if info, err := os.Stat(file); err == nil {
		if info.IsDir() {
			return usagef("%s for %s is a folder; name a file", file, form)
		}
		return writable(file)
	}
	return writable(filepath.Dir(file))
}

// writable returns a wrong usage when a file or folder is not there or not to be written to.
func writable(name string) error {
	const write = 2 // W_OK of access(2)
	if err := syscall.Access(name, write); err != nil {
		return usagef("%s cannot be written to: %v", name, err)
	}
	return nil
}

// planOutputs fills in what is written where. Standard output has room for one format.
func (f *checkFlags) planOutputs(p *checkPlan) error {
	formats := f.formats
	if len(formats) == 0 {
		formats = []string{string(report.Text)}
	}
	places := checkPlaces{}
	for _, text := range formats {
		word, file, named := strings.Cut(text, "=")
		switch {
		case !slices.Contains(report.Formats(), report.Format(word)):
			return usagef("--format %q: must be one of text, json, sarif, html, markdown, junit, and =FILE after it if you like", text)
		case named && file == "":
			return usagef("--format %s: names no file after the =", text)
		case !named:
			file = f.output
		}
		if err := places.take("--format "+word, file); err != nil {
			return err
		}
		p.outputs = append(p.outputs, checkOutput{report.Format(word), file})
	}
	if f.output != "" && places[filepath.Clean(f.output)] == "" {
		return usagef("--output %s: each format has a file of its own; leave it out, or the file of one format", f.output)
	}
	if f.badge != "" {
		if err := places.take("--badge", f.badge); err != nil {
			return err
		}
		p.outputs = append(p.outputs, checkOutput{report.Badge, f.badge})
	}
	if f.writeBaseline != "" {
		return places.take("--write-baseline", f.writeBaseline)
	}
	return nil
}

// planState makes the folder of what was seen, and looks whether it can be read and written, before anything is asked.
func (p *checkPlan) planState() error {
	if p.state == "" {
		return nil
	}
	if err := os.MkdirAll(p.state, 0o700); err != nil {
		return usageError("--state: " + err.Error())
	}
	if err := writable(p.state); err != nil {
		return err
	}
	for i := range p.targets {
		if _, err := check.ReadState(p.state, p.targets[i].url); err != nil {
			return usageError("--state: " + err.Error())
		}
	}
	return nil
}
