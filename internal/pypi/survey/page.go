package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	_ "embed"
)

//go:embed page.md.tmpl
var pageText string

var downloadsDate = regexp.MustCompile(`top-pypi-packages\.csv.*?(\d{4}-\d\d-\d\d)`)

// A pageData is what the page is made of.
type pageData struct {
	list  []listed
	rows  []row
	table comparison
}

// write writes the page, whole or not at all.
func write(ctx context.Context, page, program string, d pageData) error {
	sources, err := os.ReadFile(sourcesFile)
	if err != nil {
		return fmt.Errorf("date of the list of downloads: %w", err)
	}
	date := downloadsDate.FindSubmatch(sources)
	if date == nil {
		return fmt.Errorf("%s has no date of the list of downloads", sourcesFile)
	}
	version, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return fmt.Errorf("version of %s: %w", program, err)
	}
	load, err := readLoad()
	if err != nil {
		return err
	}
	form, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("form of the page: %w", err)
	}
	var text strings.Builder
	err = form.Execute(&text, map[string]any{
		"Date": time.Now().UTC().Format(time.DateOnly), "Downloads": string(date[1]), "Version": versions(string(version)),
		"Processors": runtime.NumCPU(), "Load": load,
		"Most": section(d.rows, false), "Others": section(d.rows, true), "LeftOut": leftOut(d.list),
		"Wheels": d.table.wheels, "Agree": d.table.agree, "Differing": d.table.differing,
	})
	if err != nil {
		return fmt.Errorf("form of the page: %w", err)
	}
	draft := page + ".new"
	if err := os.WriteFile(draft, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.Rename(draft, page); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(page), err), os.Remove(draft))
	}
	return nil
}

// readLoad returns how many processes ran or wanted to, on the average of 15 minutes.
func readLoad() (string, error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", fmt.Errorf("load of the machine: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return "", fmt.Errorf("load of the machine: %q", text)
	}
	return fields[2], nil
}

// versions puts the lines of what the program says of its versions into one.
func versions(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(all, ", ")
}

// A part is one of the two tables of the page.
type part struct {
	Rows         []string
	Failed       []string
	Fresh, Again string // the call in the middle, in seconds
}

// Good is how many of them were imported.
func (p part) Good() int { return len(p.Rows) - len(p.Failed) }

// section makes the table of the most downloaded packages, or of the others.
func section(rows []row, other bool) part {
	var p part
	var fresh, again []time.Duration
	for _, r := range rows {
		if r.other != other {
			continue
		}
		v, result := r.fresh, "imported"
		fresh, again = append(fresh, v.call), append(again, r.again.call)
		times := []string{seconds(v.call - v.imported()), seconds(v.imported()), seconds(r.again.call - r.again.imported()), seconds(r.again.imported())}
		if failure := r.failure(); failure != "" {
			result, times = "not imported, see below", []string{seconds(v.call), "", seconds(r.again.call), ""}
			p.Failed = append(p.Failed, fmt.Sprintf("`%s`: %s. The answer said: “%s”", r.module, r.why, strings.TrimSpace(failure)))
		}
		p.Rows = append(p.Rows, fmt.Sprintf("| %d | %s | `%s` | %s | %d | %s | %s |",
			len(p.Rows)+1, r.name, r.module, v.found.Version, len(v.found.Offers), strings.Join(times, " | "), result))
	}
	p.Fresh, p.Again = median(fresh), median(again)
	return p
}

// imported is the time that the import took.
func (v visit) imported() time.Duration { return time.Duration(v.found.Seconds * float64(time.Second)) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

// median returns the time in the middle.
func median(times []time.Duration) string {
	slices.Sort(times)
	return seconds(times[len(times)/2])
}

// failure is what kept one of the two imports from being done, "" for nothing.
func (r row) failure() string {
	if r.fresh.failure != "" {
		return r.fresh.failure
	}
	return r.again.failure
}

// leftOut returns the names that nobody imports, by the reason.
func leftOut(list []listed) []string {
	var reasons []string
	named := map[string][]string{}
	for _, p := range list {
		if p.module != "" {
			continue
		}
		if named[p.why] == nil {
			reasons = append(reasons, p.why)
		}
		named[p.why] = append(named[p.why], p.name)
	}
	for i, why := range reasons {
		reasons[i] = fmt.Sprintf("%s: %s", why, strings.Join(named[why], ", "))
	}
	return reasons
}

// surprises is the error of what went otherwise than packages.txt has it.
func surprises(rows []row) error {
	var err error
	for _, r := range rows {
		switch failure := r.failure(); {
		case failure != "" && r.why == "":
			err = errors.Join(err, fmt.Errorf("%s cannot be imported, and packages.txt does not say why: %s", r.name, failure))
		case failure == "" && r.why != "":
			err = errors.Join(err, fmt.Errorf("%s can be imported, packages.txt says that it cannot: %s", r.name, r.why))
		}
	}
	return err
}
