package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// othersBegin is the line behind which packages stand for another reason than that.
const othersBegin = "[others]"

//go:embed packages.txt
var packagesText string

// A listed is a line of packages.txt.
type listed struct {
	name   string // of the distribution
	module string // what it is imported by, "" for one that nobody imports
	why    string // it is left out, or cannot be imported
	other  bool   // not one of the most downloaded
}

// packages reads packages.txt.
func packages() ([]listed, error) {
	var all []listed
	other := false
	for line := range strings.Lines(packagesText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line == othersBegin {
			other = true
			continue
		}
		name, rest, ok := strings.Cut(line, " ")
		p := listed{name: name, other: other}
		if why, left := strings.CutPrefix(rest, "- "); left {
			p.why = why
		} else {
			p.module, p.why, _ = strings.Cut(rest, " ! ")
		}
		if !ok || p.why == "" && p.module == "" {
			return nil, fmt.Errorf("packages.txt: cannot read %q", line)
		}
		all = append(all, p)
	}
	return all, nil
}

// imported returns those that somebody imports, or of these only some, by name.
func imported(list []listed, only string) []listed {
	var some []listed
	for _, p := range list {
		if p.module != "" && (only == "" || slices.Contains(strings.Split(only, ","), p.name)) {
			some = append(some, p)
		}
	}
	return some
}
