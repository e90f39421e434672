package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"runpython/internal/pypi/names"
	"runpython/internal/pypi/requirement"
)

// A comparison is what the table of import names says beside what wheels offer.
type comparison struct {
	wheels    int
	agree     int
	differing []difference
}

// A difference is an import name that a wheel offers and for which the table has another
// distribution, or one that the table says a wheel offers and that is not in it.
type difference struct {
	module  string
	wheel   string
	table   string // what the table says; "" for nothing
	offered bool
}

// beside are modules that wheels bring along and nobody means: tests, build scripts,
// examples. Many wheels bring the same ones by mistake.
var beside = []string{"benchmarks", "conftest", "doc", "docs", "examples", "setup", "test", "tests", "tools"}

// compare looks at all that the wheels of the packages offer, those that others need
// included. table is the text of names/data/imports.txt.
func compare(rows []row, table string) comparison {
	offers := map[string][]string{}
	for _, r := range rows {
		for distribution, modules := range r.fresh.found.Offers {
			offers[requirement.Normalize(distribution)] = modules
		}
	}
	c := comparison{wheels: len(offers)}
	for _, distribution := range slices.Sorted(maps.Keys(offers)) {
		for _, module := range offers[distribution] {
			if slices.Contains(beside, module) {
				continue
			}
			asked, _ := names.Distribution(module)
			if bare(asked) == distribution {
				c.agree++
				continue
			}
			c.differing = append(c.differing, difference{module, distribution, asked, true})
		}
	}
	for line := range strings.Lines(table) {
		module, asked, _ := strings.Cut(strings.TrimSpace(line), "\t")
		modules, installed := offers[asked]                      // with a version or an extra it is the exception that it says
		installed = installed && !strings.Contains(module, "._") // look.py leaves those out
		if installed && !slices.ContainsFunc(modules, func(m string) bool { return within(m, module) || within(module, m) }) {
			c.differing = append(c.differing, difference{module, asked, asked, false})
		}
	}
	return c
}

// bare returns the distribution of a requirement, "" for none.
func bare(text string) string {
	r, err := requirement.Parse(text)
	if err != nil {
		return ""
	}
	return r.Name
}

// within reports whether a module is the package, or in it.
func within(module, in string) bool { return module == in || strings.HasPrefix(module, in+".") }

func (c comparison) print(out io.Writer) {
	fmt.Fprintf(out, "%d wheels, %d import names as the table has them, %d otherwise\n", c.wheels, c.agree, len(c.differing))
	for _, d := range c.differing {
		fmt.Fprintf(out, "\t%s\n", d)
	}
}

// String words the difference for the page.
func (d difference) String() string {
	switch {
	case !d.offered:
		return fmt.Sprintf("`%s` is not in %s, the table says that it is", d.module, d.wheel)
	case d.table == "":
		return fmt.Sprintf("`%s` comes with %s, the table has nothing", d.module, d.wheel)
	}
	return fmt.Sprintf("`%s` comes with %s, the table says %s", d.module, d.wheel, d.table)
}
