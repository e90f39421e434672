// Package names knows the names of distributions: which one brings what code imports
// (PIL comes with pillow), which ones are much used, and which look like one of those
// without being it.
//
// Its data is text in the program's file, read in place at each question: nothing is
// built at the start, so that the processes of gVisor, which are this program again,
// pay nothing for it. data/README.md names the sources.
//
// # Trust
//
// Import names come from code and are hostile: any text may be asked for. The data is
// a snapshot made by others. That a name is in it says that it was much downloaded on
// that day, not that it is safe or that it still exists.
//
// # Failure
//
// There is none: what is not known is said to be unknown.
package names

import (
	_ "embed"
	"strings"

	"runpython/internal/pypi/requirement"
)

//go:embed data/imports.txt
var imports string // lines of an import name, a tab, and a requirement or "!" and a sentence, in order

//go:embed data/popular.txt
var popular string // lines of a distribution, the most downloaded first

// maxImportBytes bounds what is looked up; no import name in the data is half as long.
const maxImportBytes = 256

// Distribution returns the distribution, in its normal form (PEP 503), that brings
// what code imports. importName is as in the code and dotted as far as the code goes:
// google.cloud.storage.Client and google.genai come with different ones. Where the
// distribution alone would not do, name is a requirement of it (PEP 508): psycopg[binary],
// since psycopg alone looks for a library of the system; setuptools<82, since newer ones
// have no pkg_resources.
//
// known is false for a name that nobody has vouched for: name is then a guess, the
// first part of the import name, of use only after the index says that it exists, or
// "" where no distribution can have that name or [Unavailable] says why there is none.
func Distribution(importName string) (name string, known bool) {
	switch found := lookUp(importName); {
	case strings.HasPrefix(found, "!"):
		return "", false
	case found != "":
		return found, true
	}
	top, _, _ := strings.Cut(importName, ".")
	if !requirement.IsName(top) {
		return "", false
	}
	name = requirement.Normalize(top)
	return name, Popular(name)
}

// Unavailable returns a sentence for people about an import name that no distribution
// brings here, and what to do instead; false if there is nothing to say.
func Unavailable(importName string) (why string, ok bool) {
	return strings.CutPrefix(lookUp(importName), "!")
}

// Popular reports whether a distribution, by its name in normal form, is one of the
// 8,000 most downloaded.
func Popular(name string) bool {
	if name == "" || strings.Contains(name, "\n") {
		return false
	}
	return strings.HasPrefix(popular, name+"\n") || strings.Contains(popular, "\n"+name+"\n")
}

// lookUp returns what the table has for the longest part of a dotted name, or "".
func lookUp(importName string) string {
	if len(importName) > maxImportBytes {
		return ""
	}
	for name := importName; name != ""; {
		if found := entry(name); found != "" {
			return found
		}
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			break
		}
		name = name[:dot]
	}
	return ""
}

// entry returns the second field of the line whose first is name, or "". It halves the
// text until the line is found; a cut falls anywhere and moves to the next line's begin.
func entry(name string) string {
	low, high := 0, len(imports)
	for low < high {
		start := low + (high-low)/2
		for start > low && imports[start-1] != '\n' {
			start--
		}
		line, _, _ := strings.Cut(imports[start:high], "\n")
		key, value, _ := strings.Cut(line, "\t")
		switch strings.Compare(key, name) {
		case 0:
			return value
		case -1:
			low = start + len(line) + 1
		default:
			high = start
		}
	}
	return ""
}
