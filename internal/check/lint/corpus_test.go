package lint_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"runpython/internal/check/lint"
)

// An entry is one text of a corpus, in the form in which a server would send it, and why it is there.
type entry struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`   // of malicious ones: what they try
	Server string `json:"server"` // of ordinary ones: what kind of server lists them
	Why    string `json:"why"`

	Tool         json.RawMessage `json:"tool"`
	Prompt       json.RawMessage `json:"prompt"`
	Resource     json.RawMessage `json:"resource"`
	Instructions string          `json:"instructions"`
}

// A finding is what the rules say of an entry.
type finding struct {
	costs bool // it takes points
	warns bool
	says  []string
}

// judge looks at entries as at those of one server.
func judge(all []entry) map[string]*finding {
	var raw, others []json.RawMessage
	var instructions []string
	ids := map[string]string{} // by the beginning of a path
	found := map[string]*finding{}
	name := func(of json.RawMessage) string {
		var d struct{ Name string }
		if json.Unmarshal(of, &d) != nil {
			return ""
		}
		return d.Name
	}
	for _, e := range all {
		found[e.ID] = &finding{}
		switch {
		case e.Tool != nil:
			raw = append(raw, e.Tool)
			ids["tool/"+name(e.Tool)+"/"] = e.ID
		case e.Prompt != nil:
			others = append(others, e.Prompt)
			ids["item/"+name(e.Prompt)+"/"] = e.ID
		case e.Resource != nil:
			others = append(others, e.Resource)
			ids["item/"+name(e.Resource)+"/"] = e.ID
		default:
			instructions = append(instructions, e.Instructions)
			ids["instructions"] = e.ID
		}
	}
	note := func(path string, costs bool, says string) {
		for begin, id := range ids {
			if strings.HasPrefix(path, begin) {
				f := found[id]
				f.costs, f.warns = f.costs || costs, f.warns || !costs
				f.says = append(f.says, says)
			}
		}
	}
	tools := lint.ParseTools(raw)
	for _, h := range lint.FindMarkers(lint.Fields(tools, others, lint.About{Instructions: strings.Join(instructions, "\n\n")})) {
		note(h.Path, !h.Warning, fmt.Sprintf("%s %q", h.Rule, h.Excerpt))
	}
	for _, i := range lint.FindIrreversible(tools) {
		if i.Denied || i.Unsaid {
			note("tool/"+i.Tool+"/", i.Denied, "irreversible: "+i.Word)
		}
	}
	return found
}

func corpus(t testing.TB, name string) []entry {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "corpus", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []entry
	ids := map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if ids[e.ID] || e.Why == "" || e.Kind == "" && e.Server == "" {
			t.Errorf("entry %q has its id twice, or no reason", e.ID)
		}
		ids[e.ID] = true
		all = append(all, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMaliciousCorpus: each of the texts is found. What is meant well as often as not, and so costs nothing, is an eighth at most.
func TestMaliciousCorpus(t *testing.T) {
	all := corpus(t, "malicious")
	if len(all) < 100 {
		t.Errorf("the corpus has %d texts, want 100", len(all))
	}
	warned := 0
	for _, e := range all {
		f := judge([]entry{e})[e.ID]
		switch {
		case f.costs:
		case f.warns:
			warned++
			t.Logf("%s (%s, %s) is only warned of: %q", e.ID, e.Kind, e.Why, f.says)
		default:
			t.Errorf("%s (%s, %s) is not found", e.ID, e.Kind, e.Why)
		}
	}
	if warned*8 > len(all) {
		t.Errorf("%d of %d are only warned of, want an eighth at most", warned, len(all))
	}
}

// TestOrdinaryCorpus: of texts as popular servers have them one in a hundred may lose points, and three may be warned of.
func TestOrdinaryCorpus(t *testing.T) {
	all := corpus(t, "ordinary")
	if len(all) < 300 {
		t.Errorf("the corpus has %d texts, want 300", len(all))
	}
	servers := map[string][]entry{}
	for _, e := range all {
		servers[e.Server] = append(servers[e.Server], e)
	}
	lost, warned := []string{}, []string{}
	for _, entries := range servers {
		for id, f := range judge(entries) {
			if f.costs {
				lost = append(lost, fmt.Sprintf("%s: %q", id, f.says))
			} else if f.warns {
				warned = append(warned, fmt.Sprintf("%s: %q", id, f.says))
			}
		}
	}
	slices.Sort(lost)
	slices.Sort(warned)
	t.Logf("%d lose points: %s", len(lost), strings.Join(lost, "; "))
	t.Logf("%d are warned of: %s", len(warned), strings.Join(warned, "; "))
	if len(lost)*100 > len(all) || len(warned)*100 > 3*len(all) {
		t.Errorf("of %d texts %d lose points and %d are warned of; want 1 %% and 3 %% at most", len(all), len(lost), len(warned))
	}
}

// BenchmarkMarkers looks at the ordinary corpus.
func BenchmarkMarkers(b *testing.B) {
	servers := map[string][]entry{}
	for _, e := range corpus(b, "ordinary") {
		servers[e.Server] = append(servers[e.Server], e)
	}
	for b.Loop() {
		for _, entries := range servers {
			judge(entries)
		}
	}
}
