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

// messages are roles of texts that a person must not miss, and that are not their element's name.
var messages = []string{"alert", "status", "note", "definition"}

// Tree returns what a screen reader is told of the page, in its order: role, name and, where there are any, description and
// states of each element that has a name or a description; of messages the role and the text.
func (p *Page) Tree() []string {
	p.t.Helper()
	nodes := call(p, "read what screen readers are told", accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes
	byID := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range nodes {
		byID[n.NodeID] = n
	}
	var lines []string
	var read func(n *accessibility.Node)
	read = func(n *accessibility.Node) {
		if line := lineOf(n, byID); line != "" {
			lines = append(lines, line)
		}
		for _, id := range n.ChildIDs {
			if child := byID[id]; child != nil {
				read(child)
			}
		}
	}
	if len(nodes) > 0 {
		read(nodes[0])
	}
	return lines
}

// lineOf returns what is told of a node alone, "" where that is nothing.
func lineOf(n *accessibility.Node, byID map[accessibility.NodeID]*accessibility.Node) string {
	role, name, description := said(n.Role), said(n.Name), said(n.Description)
	if slices.Contains(messages, role) {
		name = textOf(n, byID)
	}
	if n.Ignored || slices.Contains(structure, role) || name == "" && description == "" {
		return ""
	}
	words := []string{role}
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
	return strings.Join(words, " ")
}

// textOf returns the text inside of a node.
func textOf(n *accessibility.Node, byID map[accessibility.NodeID]*accessibility.Node) string {
	if said(n.Role) == "StaticText" && n.Name != nil {
		return plain(n.Name.Value) // with its spaces
	}
	var text strings.Builder
	for _, id := range n.ChildIDs {
		if child := byID[id]; child != nil {
			text.WriteString(textOf(child, byID))
		}
	}
	return text.String()
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
	return {any: true, label: label.trim(), visible: outlined && box.width > 0 && box.top > -1 && box.bottom < innerHeight + 1};
})()`

// Focused returns the label of what has the focus, "" where nothing has it.
func (p *Page) Focused() string {
	p.t.Helper()
	return Eval[focus](p, readFocus).Label
}

// fromTop makes the next Tab lead to the first element, whatever has had the focus.
const fromTop = `(() => {
	document.body.tabIndex = -1;
	document.body.focus();
	document.body.removeAttribute("tabindex");
	scrollTo(0, 0);
	return true;
})()`

// maxTabs bounds how often the key is pressed on one page.
const maxTabs = 100

// TabOrder presses Tab from the top of the page to its end and returns the labels of what gets the focus; the test fails where
// that cannot be seen. It leaves nothing focused.
func (p *Page) TabOrder() []string {
	p.t.Helper()
	Eval[bool](p, fromTop)
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
