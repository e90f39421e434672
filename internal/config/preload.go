package config

import (
	"strings"

	"runpython/internal/pypi/requirement"
)

// maxPreloaded bounds the packages that are preloaded.
const maxPreloaded = 50

// requirements are distributions with or without versions, as in "numpy,pandas>=2,<4".
func requirements() kind[[]string] {
	return kind[[]string]{
		arg: "LIST", limits: "names with or without versions, as in numpy,pandas>=2,<4,matplotlib",
		yaml: []string{tagString},
		parse: func(text string) ([]string, error) {
			if text == "" {
				return nil, nil
			}
			pieces := splitRequirements(text)
			if len(pieces) > maxPreloaded {
				return nil, refusal("must be at most %d packages", maxPreloaded)
			}
			all := make([]string, len(pieces))
			for i, piece := range pieces {
				r, err := requirement.Parse(piece)
				if err != nil {
					return nil, refusal("%s", err)
				}
				all[i] = r.String()
			}
			return all, nil
		},
		format: func(list []string) string { return strings.Join(list, ",") },
	}
}

// splitRequirements splits a list at its commas, but not at those between versions or extras of one package: what
// follows these begins with no name, or is in brackets.
func splitRequirements(text string) []string {
	var all []string
	for piece := range strings.SplitSeq(text, ",") {
		last := len(all) - 1
		if last >= 0 && (strings.Count(all[last], "[") > strings.Count(all[last], "]") || strings.IndexAny(strings.TrimSpace(piece), "<>=!~") == 0) {
			all[last] += "," + piece
			continue
		}
		all = append(all, piece)
	}
	return all
}
