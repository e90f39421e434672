package config

// maxSuggest is the longest name for which a likely meaning is looked for.
const maxSuggest = 32

// Suggest returns `; did you mean "x"?` with the one of names that is nearest to
// name, or "" when none is near.
func Suggest(name string, names []string) string {
	if len(name) > maxSuggest {
		return ""
	}
	best, least := "", 3 // more edits than two is another word
	for _, n := range names {
		if d := edits(name, n); d < least && d < len(n) {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + quoted(best) + "?"
}

// edits counts the bytes to insert, delete or replace between a and b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
