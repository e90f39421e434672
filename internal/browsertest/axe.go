package browsertest

import (
	"strings"
)

// violation is what the checker says of a rule that a page breaks.
type violation struct {
	ID      string `json:"id"`
	Help    string `json:"help"`
	HelpURL string `json:"helpUrl"`
	Nodes   []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// runAxe checks the document by the rules of WCAG 2.2, levels A and AA, and by what its authors find good practice. What
// it is not sure of counts too.
const runAxe = `axe.run(document, {
	runOnly: {type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]},
	rules: {"target-size": {enabled: true}}, // of WCAG 2.2, and off unless asked for
	resultTypes: ["violations", "incomplete"],
}).then(r => [...r.violations, ...r.incomplete].map(v => ({
	id: v.id, help: v.help, helpUrl: v.helpUrl, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary})),
})))`

// Axe fails the test for each element of the page that axe-core finds to keep people out, and what it cannot decide. Where
// the page may run no script, the checker still does.
func (p *Page) Axe(name string) {
	p.t.Helper()
	if p.o.NoScript {
		p.script(true)
		defer p.script(false)
	}
	if !Eval[bool](p, "typeof axe !== 'undefined'") {
		Eval[bool](p, p.axe+"\n;true")
	}
	for _, v := range Eval[[]violation](p, runAxe) {
		for _, n := range v.Nodes {
			p.t.Errorf("%s: %s: %s\n%s\n%s\n%s", name, v.ID, v.Help, n.HTML, indent(n.Summary), v.HelpURL)
		}
	}
}

func indent(text string) string { return "\t" + strings.ReplaceAll(text, "\n", "\n\t") }
