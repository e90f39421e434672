package names

import "strings"

const (
	// lookedAlike is how many of the most downloaded names are worth an imitation.
	lookedAlike = 4_000

	// maxCompared bounds the length in bytes of names that are compared.
	maxCompared = 64
)

// LookAlike returns the most downloaded distribution whose name one may have meant with
// name, which is in normal form: a letter missing, added, changed or swapped with its
// neighbour (two in a long word), the hyphens elsewhere, or "python" before or after it.
// ok is false for a name that is much downloaded itself, whatever it looks like.
//
// It is a reason to warn, not to refuse: of 7,000 names next in the order of downloads, 2.6 %
// look like one of the first.
func LookAlike(name string) (meant string, ok bool) {
	if len(name) > maxCompared || Popular(name) {
		return "", false
	}
	joined, bare := join(name), withoutPython(name)
	rest := popular
	for range lookedAlike {
		var other string
		other, rest, _ = strings.Cut(rest, "\n")
		if len(other) <= maxCompared && (joined == join(other) || bare == withoutPython(other) || near(name, other)) {
			return other, true
		}
	}
	return "", false
}

// join returns a name without its hyphens.
func join(name string) string { return strings.ReplaceAll(name, "-", "") }

// withoutPython returns a name without the words that say that it is for Python.
func withoutPython(name string) string {
	for _, word := range []string{"python-", "python", "py-", "py"} {
		if rest, ok := strings.CutPrefix(name, word); ok && len(rest) > 3 {
			name = rest
			break
		}
	}
	for _, word := range []string{"-python", "-py", "python"} {
		if rest, ok := strings.CutSuffix(name, word); ok && len(rest) > 3 {
			return rest
		}
	}
	return name
}

// near reports whether a slip of the hand makes one name of the other. Words that both
// begin or end with do not count: azure-mgmt-dns and azure-mgmt-cdn are two things.
func near(a, b string) bool {
	if diff := len(a) - len(b); diff < -2 || diff > 2 {
		return false
	}
	a, b = differing(a, b)
	switch shorter := min(len(a), len(b)); {
	case shorter < 5:
		return false
	case shorter < 9:
		return distance(a, b) == 1
	default:
		return distance(a, b) <= 2
	}
}

// differing cuts off the words at both ends that two names share.
func differing(a, b string) (string, string) {
	for {
		wordA, restA, okA := strings.Cut(a, "-")
		wordB, restB, okB := strings.Cut(b, "-")
		if !okA || !okB || wordA != wordB {
			break
		}
		a, b = restA, restB
	}
	for {
		i, j := strings.LastIndexByte(a, '-'), strings.LastIndexByte(b, '-')
		if i < 0 || j < 0 || a[i:] != b[j:] {
			return a, b
		}
		a, b = a[:i], b[:j]
	}
}

// distance counts the letters that are missing, added or changed, and the pairs of
// neighbours that are swapped, between two names of at most maxCompared bytes
// (optimal string alignment).
func distance(a, b string) int {
	var rows [3][maxCompared + 1]uint8 // a distance is at most maxCompared
	before, above, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		above[j] = uint8(j)
	}
	for i := 1; i <= len(a); i++ {
		row[0] = uint8(i)
		for j := 1; j <= len(b); j++ {
			change := above[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, above[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return int(above[len(b)])
}
