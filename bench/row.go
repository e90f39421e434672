package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A row is one line of the result; what does not apply is null.
type row struct {
	Name      string   `json:"name"`
	Unit      string   `json:"unit"`
	N         int      `json:"n"` // measurements behind P50 and P99
	P50       *float64 `json:"p50"`
	P99       *float64 `json:"p99"`       // the largest where there are fewer than 100
	Reference *float64 `json:"reference"` // p50 of the reference's work in the same run
	Ratio     *float64 `json:"ratio"`     // p50 / reference
	Goal      *string  `json:"goal"`
	Met       *bool    `json:"met"`            // null also when what the goal needs could not be measured
	Note      string   `json:"note,omitempty"` // what the reference is, or why something is null
	Repeat    string   `json:"repeat"`         // the command that measures this row again
}

// A sample is what was measured of one thing, in the order of measuring.
type sample struct {
	unit   string
	values []float64
}

// add adds durations to a sample in milliseconds.
func (s *sample) add(spent ...time.Duration) {
	s.unit = "ms"
	for _, d := range spent {
		s.values = append(s.values, float64(d)/float64(time.Millisecond))
	}
}

// quantile returns the smallest value that at least the share q is not above, by
// nearest rank. The sample must not be empty.
func (s *sample) quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(s.values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return rounded(sorted[max(rank, 1)-1])
}

// rounded keeps a thousandth, a microsecond of a millisecond.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

// measured makes a row of a sample, which may be empty.
func measured(name string, s *sample) row {
	r := row{Name: name, Unit: s.unit, N: len(s.values)}
	if len(s.values) > 0 {
		r.P50, r.P99 = new(s.quantile(0.5)), new(s.quantile(0.99))
	}
	return r
}

// single makes a row of one figure that has no distribution, made of n measurements.
func single(name, unit string, n int, value float64) row {
	return row{Name: name, Unit: unit, N: n, P50: new(rounded(value))}
}

// against sets the reference, which what describes. A reference of 0 or less was not measured.
func (r row) against(what string, reference float64) row {
	r.Note = joined(r.Note, "reference: "+what)
	if r.P50 == nil || reference <= 0 {
		return r
	}
	r.Reference = new(rounded(reference))
	r.Ratio = new(math.Round(*r.P50/reference*10000) / 10000)
	return r
}

// without says why there is no reference.
func (r row) without(why error) row {
	r.Note = joined(r.Note, "no reference: "+firstLine(why))
	return r
}

// noted adds a sentence.
func (r row) noted(note string) row {
	r.Note = joined(r.Note, note)
	return r
}

func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(s string) bool { return s == "" }), "; ")
}

// A goal is a bound for one figure of a row.
type goal struct {
	figure string // p50, p99 or ratio
	least  bool   // the bound is the least and not the most
	bound  float64
}

func atMost(figure string, bound float64) goal { return goal{figure: figure, bound: bound} }
func atLeast(figure string, bound float64) goal {
	return goal{figure: figure, bound: bound, least: true}
}

func (g goal) String() string {
	sign := "<="
	if g.least {
		sign = ">="
	}
	return g.figure + " " + sign + " " + strconv.FormatFloat(g.bound, 'f', -1, 64)
}

// wants sets the goals of a row and whether all are met.
func (r row) wants(goals ...goal) row {
	var texts []string
	met, known := true, true
	for _, g := range goals {
		texts = append(texts, g.String())
		value := map[string]*float64{"p50": r.P50, "p99": r.P99, "ratio": r.Ratio}[g.figure]
		switch {
		case value == nil:
			known = false
		case g.least:
			met = met && *value >= g.bound
		default:
			met = met && *value <= g.bound
		}
	}
	r.Goal = new(strings.Join(texts, ", "))
	if known || !met {
		r.Met = new(met)
	}
	return r
}

// writeTable prints rows for a person: the figures, then the notes.
func writeTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "name\tunit\tn\tp50\tp99\treference\tratio\tgoal\tmet\trepeat")
	for _, r := range rows {
		goal, met := "", ""
		if r.Goal != nil {
			goal, met = *r.Goal, "?"
		}
		if r.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*r.Met]
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Unit, r.N,
			figure(r.P50), figure(r.P99), figure(r.Reference), figure(r.Ratio), goal, met, r.Repeat)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for _, r := range rows {
		if r.Note != "" {
			fmt.Fprintf(w, "  %s: %s\n", r.Name, r.Note)
		}
	}
	return nil
}

// figure prints a number with as many digits as a person reads.
func figure(v *float64) string {
	switch {
	case v == nil:
		return "-"
	case *v >= 100:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	case *v >= 10:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	case *v >= 0.1 || *v == 0:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	}
	return strconv.FormatFloat(*v, 'f', 4, 64)
}

// writeJSON writes rows to a file.
func writeJSON(name string, rows []row) error {
	text, err := json.MarshalIndent(rows, "", "  ")
	if err == nil {
		err = os.WriteFile(name, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
