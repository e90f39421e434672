package browsertest

import (
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp/kb"
)

// structure are roles whose text a screen reader reads as what is inside of them.
var structure = []string{"none", "generic", "RootWebArea", "InlineTextBox", "StaticText", "ListMarker", "LineBreak"}

// states are those that change what a person does.
var states = []accessibility.PropertyName{accessibility.PropertyNameInvalid, accessibility.PropertyNameRequired, accessibility.PropertyNameDisabled}

// Tree returns what a screen reader is told of the page, in its order: role, name and, where there are any, description and
// states of each element that has a name or a meaning of its own.
func (p *Page) Tree() []string {
	p.t.Helper()
	var lines []string
	for _, n := range call(p, "read what screen readers are told", accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		role, words := said(n.Role), []string{said(n.Role)}
		name, description := said(n.Name), said(n.Description)
		if n.Ignored || slices.Contains(structure, role) || name == "" && description == "" {
			continue
		}
		if name != "" {
			words = append(words, name)
		}
		if description != "" {
			words = append(words, "("+description+")")
		}
		for _, state := range n.Properties {
			if value := said(state.Value); slices.Contains(states, state.Name) && value != "false" {
				words = append(words, string(state.Name)+"="+value)
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// said returns a value as words.
func said(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	return strings.TrimSpace(plain(v.Value))
}

// focus is what of a page has it.
type focus struct {
	Any     bool   `json:"any"`     // something has it
	Label   string `json:"label"`   // by which a person knows it
	Visible bool   `json:"visible"` // that it has it
}

const readFocus = `(() => {
	const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
	if (e === document.body) return {any: false};
	const outlined = style.outlineStyle === "auto" || style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
	const label = e.getAttribute("aria-label") || (e.labels?.length ? e.labels[0].innerText : e.innerText);
	return {any: true, label: label.trim(), visible: outlined && box.width > 0 && box.top >= 0 && box.bottom <= innerHeight};
})()`

// Focused returns the label of what has the focus, "" where nothing has it.
func (p *Page) Focused() string {
	p.t.Helper()
	return Eval[focus](p, readFocus).Label
}

// maxTabs bounds how often the key is pressed on one page.
const maxTabs = 100

// TabOrder presses Tab from the top of the page to its end and returns the labels of what gets the focus; the test fails where
// that cannot be seen. It leaves nothing focused.
func (p *Page) TabOrder() []string {
	p.t.Helper()
	Eval[bool](p, "document.activeElement.blur(), document.getSelection().removeAllRanges(), scrollTo(0, 0), true")
	var order []string
	for range maxTabs {
		p.Press(kb.Tab)
		f := Eval[focus](p, readFocus)
		if !f.Any {
			return order
		}
		if !f.Visible {
			p.t.Errorf("the focus on %q cannot be seen", f.Label)
		}
		order = append(order, f.Label)
	}
	p.t.Fatalf("Tab never ends: %q", order)
	return nil
}
