package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/extent"
)

func TestUnfounded(t *testing.T) {
	tests := []struct {
		name  string
		words string
		given string
		want  []string
	}{
		{"as it stands", "The product is 391.", "391", nil},
		{"another", "The product is 401.", "391", []string{"401"}},
		{"nothing was run", "Paris has 2,102,650 people.", "", []string{"2,102,650"}},
		{"no numbers", "The list is empty.", "[]", nil},
		{"once each", "401, and again 401, then 402.", "391", []string{"401", "402"}},

		// How it is written.
		{"thousands set apart", "1,234,567 rows", "1234567", nil},
		{"thousands in the output", "1234567 rows", "1,234,567", nil},
		{"thousands with spaces", "1 234 567 rows and 1 234 568 more", "1234567", []string{"1 234 568"}},
		{"thousands with apostrophes", "1'234'567", "1234567", nil},
		{"thousands with underscores", "1_234_567", "1234567", nil},
		{"thousands as in Germany", "1.234.567,89 €", "1234567.89", nil},
		{"thousands as in India", "12,34,567", "1234567", nil},
		{"a decimal comma", "Das sind 3,14 m.", "3.14", nil},
		{"one comma, both ways", "1,234 or 5,678", "1.234 5678", nil},
		{"an exponent", "6.02e23 particles", "602000000000000000000000", nil},
		{"an exponent in the output", "1,200,000 in all", "1.2e6", nil},
		{"times ten to the", "about 6.02 × 10^23 and 1.3 × 10^5", "6.0221e+23", []string{"1.3 × 10^5"}},
		{"other digits", "٣٩١ and ４２３", "391", []string{"423"}},
		{"zeros in front", "007.50", "7.5", nil},
		{"zeros at the end", "12.50 €", "12.5", nil},
		{"a sign", "a loss of 42.5", "-42.5", nil},
		{"a unit without a space", "391km, 17x", "391 17", nil},
		{"a list without spaces", "the values 11,12,13", "[11, 12, 13]", nil},
		{"a list with one that is wrong", "the values 11,12,14", "[11, 12, 13]", []string{"11,12,14"}},
		{"more digits than a float64", "2305843009213693951 and 2305843009213693952", "2305843009213693951", []string{"2305843009213693952"}},
		{"many digits of pi, rounded", "3.14159265358979324", "3.14159265358979323846", nil},

		// Rounding and scale.
		{"rounded", "3.14, about 3.1, or 3.1416", "3.141592653589793", nil},
		{"rounded the wrong way", "3.15 or 3.2", "3.141592653589793", []string{"3.15", "3.2"}},
		{"digits that were not there", "3.14159", "3.14", []string{"3.14159"}},
		{"rounded to a whole number", "391 or 392", "391.4", []string{"392"}},
		{"rounded to hundreds", "about 1,200 of 1,234", "1234", nil},
		{"rounded to one digit is a guess", "about 400", "391", []string{"400"}},
		{"percent of a fraction", "that is 17.2%, or 17 percent", "0.1718", nil},
		{"a fraction of percent", "a rate of 0.17", "17 %", nil},
		{"percent that is wrong", "that is 18 %", "0.1718", []string{"18 %"}},
		{"all of it", "100% of them, 0 % missing", "", nil},
		{"millions", "12.3 million people, 13.1 million", "12345678", []string{"13.1 million"}},
		{"millions in the request", "12,300,000", "12.3 million", nil},
		{"short for thousands", "12.3k", "12345", nil},

		// What says nothing.
		{"small numbers", "The 3 files have 10 columns, in 2 groups.", "", nil},
		{"a small fraction says something", "It grew by 2.5, or 7 %.", "", []string{"2.5", "7 %"}},
		{"list items", "11. one\n12. two\n  13) three", "", nil},
		{"ordinals", "the 21st and the 33rd", "", nil},
		{"names", "x12, COVID-19, UTF-16 and col_17", "", nil},

		// Dates, times, versions.
		{"a date in other order", "30 November 2026", "2026-11-30", nil},
		{"a date with points", "am 30.11.2026", "2026-11-30", nil},
		{"a wrong day", "29 November 2026", "2026-11-30", []string{"29"}},
		{"a time", "at 14:30", "2026-11-30 14:30:05", nil},
		{"a year of the request", "in 1987", "Who was born in 1987?", nil},
		{"a version", "Python 3.14", "3.14.6", nil},
		{"columns of a table", "12 and 345", "a   12 345\nb   13 346", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, agent.Unfounded(tt.words, []string{tt.given})); d != "" {
				t.Errorf("unfounded(%q, %q) (-want +got):\n%s", tt.words, tt.given, d)
			}
		})
	}
}

func TestUnfoundedIsBounded(t *testing.T) {
	var words strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&words, "%d, ", 1000+7*i)
	}
	got := agent.Unfounded(words.String(), nil)
	if len(got) != agent.MaxUnfounded {
		t.Errorf("%d numbers, want %d", len(got), agent.MaxUnfounded)
	}
}

// TestUnfoundedTakesLinearTime would not end otherwise.
func TestUnfoundedTakesLinearTime(t *testing.T) {
	extent.Slow(t)
	if testing.Short() {
		t.Skip("much data of one goroutine is left out of -short tests")
	}
	for _, s := range []string{"12 ", "1.", "1,2", "1e9", "9", "7\n", "- 12. ", "×10^7"} {
		text := strings.Repeat(s, 1<<18/len(s))
		if got := agent.Unfounded(text, []string{text}); len(got) > 0 {
			t.Errorf("unfounded(%q…) in itself: %d numbers", s, len(got))
		}
	}
}

func FuzzUnfounded(f *testing.F) {
	for _, s := range []string{"1,2.3 4'5", "1e999", "١٢٣ ×10^9", "1.2.3.4,5", "12 345 %", "9999999999999999999999.5"} {
		f.Add(s, "17")
	}
	f.Fuzz(func(t *testing.T, words, given string) {
		if got := agent.Unfounded(words, []string{given}); len(got) > agent.MaxUnfounded {
			t.Errorf("%d numbers", len(got))
		}
		// What stands there word for word is founded.
		if got := agent.Unfounded(words, []string{words}); len(got) > 0 {
			t.Errorf("unfounded(%q) in itself: %q", words, got)
		}
	})
}
