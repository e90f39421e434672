package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what of the file for Grafana asks for numbers.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr, LegendFormat string }
	}
	Annotations struct{ List []struct{ Expr string } }
	Templating  struct {
		List []struct{ Query any }
	}
}

var (
	metricName = regexp.MustCompile(`\b(?:runpython|process|go)_[a-z_]+\b`)
	byLabels   = regexp.MustCompile(`sum by \(([a-z, ]+)\)`)
	legend     = regexp.MustCompile(`\{\{([a-z]+)\}\}`)
)

// The dashboard asks for numbers and labels that the server has, and for each number that it has of its own.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("../../deploy/grafana/runpython.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	m := open()
	fill(m, "ok")
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{} // of each metric
	for _, f := range families {
		var names []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			names = append(names, l.GetName())
		}
		if f.GetMetric()[0].GetHistogram() != nil {
			labels[f.GetName()+"_bucket"] = append(names, "le")
			continue
		}
		labels[f.GetName()] = names
	}
	asked := map[string]bool{}
	check := func(where, expr, shown string) {
		found := metricName.FindAllString(expr, -1)
		if len(found) != 1 {
			t.Errorf("%s: %s asks for %q, want one metric", where, expr, found)
			return
		}
		name := found[0]
		known, ok := labels[name]
		if !ok {
			t.Errorf("%s: the server has no %s", where, name)
		}
		asked[name] = true
		if strings.Contains(expr, "rate(") != (strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_bucket")) && !strings.Contains(expr, "increase(") && !strings.Contains(expr, "changes(") {
			t.Errorf("%s: %s takes the rate of what is no counter, or not of one that is", where, expr)
		}
		var by []string
		for _, match := range byLabels.FindAllStringSubmatch(expr, -1) {
			by = append(by, strings.Split(match[1], ", ")...)
		}
		for _, l := range by {
			if !slices.Contains(known, l) {
				t.Errorf("%s: %s has no label %s", where, name, l)
			}
		}
		for _, match := range legend.FindAllStringSubmatch(shown, -1) {
			if !slices.Contains(by, match[1]) {
				t.Errorf("%s: the legend names %s, by which nothing is summed", where, match[1])
			}
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			check(p.Title, target.Expr, target.LegendFormat)
		}
	}
	for _, a := range d.Annotations.List {
		check("annotations", a.Expr, "")
	}
	if len(d.Panels) == 0 || !strings.Contains(string(text), "label_values(runpython_build_info, job)") {
		t.Error("the dashboard has no panels, or does not know its servers")
	}
	for name := range labels {
		if strings.HasPrefix(name, "runpython_") && !asked[name] && name != "runpython_build_info" {
			t.Errorf("no panel shows %s", name)
		}
	}
}
