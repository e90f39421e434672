package config

import (
	"slices"
	"strings"
)

// testPrefix begins the variables that the project's own tests read.
const testPrefix = variablePrefix + "TEST_"

// maxUnknown bounds what UnknownVariables returns.
const maxUnknown = 10

// UnknownVariables returns a sentence without a full stop for each of the names of
// variables that looks like one of a setting and is none, at most 10. They are
// no error: other programs, and other versions of this one, may know them.
func UnknownVariables(names []string) []string {
	known := []string{variable(configFlag), ModelKeyVariable}
	for _, s := range settings() {
		known = append(known, variable(s.name))
	}
	var said []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, variablePrefix) || strings.HasPrefix(name, testPrefix) || slices.Contains(known, name) {
			continue
		}
		if len(said) == maxUnknown {
			break
		}
		said = append(said, "the variable "+quoted(name)+" is no setting and is ignored"+Suggest(name, known))
	}
	return said
}
