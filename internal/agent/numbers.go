package agent

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"runpython/internal/pattern"
)

// A written is a number as it stands in a text.
type written struct {
	text string
	// readings are what may be meant: "1,234" is a thousand and more, or a decimal fraction of those who
	// write a comma there, and "1,5" may be a list of two.
	readings [][]value
	// begin is a number that stands at the beginning of others, as 3.14 in 3.14.6.
	begin []value
	// label means that the number only names something: a list item, an ordinal, a part of a word.
	label bool
}

// A value is one reading of a number, or of a part of it.
type value struct {
	is   float64
	unit float64 // what one more in the last digit that counts would add
	long string  // its digits, where they are more than a float64 holds
}

// floatDigits is how many decimal digits every float64 holds.
const floatDigits = 15

var (
	// numeral matches digits with what may stand between groups of them, and an exponent. The number of groups is
	// bounded since not all of a match may be taken.
	numeral = pattern.New(`[0-9]+(?:[.,'’_\x{a0}\x{202f}\x{2009} ][0-9]+){0,40}(?:[eE][+-]?[0-9]{1,3}\b)?`)
	// tenToThe matches the rest of a number such as 1.2 × 10^6.
	tenToThe = pattern.New(`^ ?[×x·*] ?10(?:\^|\*\*)\{?([+-]?[0-9]{1,3})\}?`)
	// scaled matches a word that multiplies, percent one that divides.
	scaled  = pattern.New(`^[ \x{a0}\x{202f}-]?(thousand|million|billion|trillion|Mio|Mrd|mn|bn|[kKM])\b`)
	percent = pattern.New(`^[ \x{a0}\x{202f}]?(%|percent|per cent|pct|Prozent|pour ?cent|por ciento)`)
	ordinal = pattern.New(`^(st|nd|rd|th|º|ª)\b`)
	// listItem matches what stands before a number that counts the items of a list, and afterItem what follows.
	listItem  = pattern.New(`(^|\n)[ \t>*#-]*$`)
	afterItem = pattern.New(`^[.)](\s|\*|$)`)
)

// scales are what words multiply by.
func scaleOf(word string) float64 {
	switch word {
	case "thousand", "k", "K":
		return 1e3
	case "million", "Mio", "mn", "M":
		return 1e6
	case "billion", "Mrd", "bn":
		return 1e9
	}
	return 1e12
}

// numbersIn calls visit for each number of a text, in linear time, until it returns false.
func numbersIn(text string, visit func(written) bool) {
	text = plainDigits(text)
	for at := 0; at < len(text); {
		span := numeral().FindStringIndex(text[at:])
		if span == nil {
			return
		}
		begin, end := at+span[0], at+span[1]
		end = begin + chainLength(text[begin:end])
		w := writtenAt(text, begin, end)
		at = max(end, begin+len(w.text))
		if !visit(w) {
			return
		}
	}
}

// plainDigits writes the digits of all scripts as those of ASCII.
func plainDigits(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf || !unicode.IsDigit(r):
			return r
		case unicode.Is(unicode.Nd, r):
			zero := r
			for unicode.IsDigit(zero-1) && r-zero < 9 {
				zero--
			}
			return '0' + (r - zero)
		}
		return r
	}, text)
}

// chainLength returns how much of a match is one number: a space goes on only before a group of three digits, and
// only after one of three at most.
func chainLength(match string) int {
	group := 0 // digits since the last separator
	for i := 0; i < len(match); i++ {
		if isDigit(match[i]) {
			group++
			continue
		}
		if match[i] == ' ' && (group > 3 || digitsAt(match, i+1) != 3) {
			return i
		}
		if match[i] < utf8.RuneSelf || utf8.RuneStart(match[i]) {
			group = 0
		}
	}
	return len(match)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digitsAt(s string, i int) int {
	n := 0
	for i+n < len(s) && isDigit(s[i+n]) {
		n++
	}
	return n
}

// aroundBytes is how far around a number is looked.
const aroundBytes = 24

// writtenAt reads the number text[begin:end] with what stands around it.
func writtenAt(text string, begin, end int) written {
	w := written{text: text[begin:end]}
	w.readings, w.begin = readingsOf(w.text)
	w.label = isPartOfName(text[:begin]) || end-begin <= 2 && countsItem(text[max(0, begin-aroundBytes):begin], text[end:min(len(text), end+aroundBytes)])
	rest := text[end:min(len(text), end+aroundBytes)]
	if r, _ := utf8.DecodeRuneInString(strings.TrimLeft(rest, " -\u00a0\u202f")); !unicode.IsLetter(r) && !strings.ContainsRune("%×·*ºª", r) {
		return w
	}
	if m := tenToThe().FindStringSubmatch(rest); m != nil {
		exponent, _ := strconv.Atoi(m[1]) // the expression lets nothing else pass
		w.text += m[0]
		w.readings = multiplied(w.readings, math.Pow10(exponent))
		return w
	}
	switch m := scaled().FindStringSubmatch(rest); {
	case m != nil:
		w.text += m[0]
		w.readings = append(w.readings, multiplied(w.readings, scaleOf(m[1]))...)
	case percent().MatchString(rest):
		w.text += percent().FindString(rest)
		w.readings = append(w.readings, multiplied(w.readings, 0.01)...)
	case ordinal().MatchString(rest):
		w.label = true
	}
	return w
}

// countsItem reports whether a number between these texts counts the items of a list.
func countsItem(before, after string) bool {
	if after != "" && after[0] != '.' && after[0] != ')' || !afterItem().MatchString(after) {
		return false
	}
	// Of a line that began earlier than before there is no line feed in it.
	return listItem().MatchString(before) && (len(before) < aroundBytes || strings.Contains(before, "\n"))
}

// isPartOfName reports whether a number after this text belongs to a word: x1, COVID-19, H2.
func isPartOfName(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	if r == '_' || unicode.IsLetter(r) && r < 0x2e80 { // scripts with words that are not set apart by spaces come after that
		return true
	}
	before, hyphen := strings.CutSuffix(before, "-")
	r, _ = utf8.DecodeLastRuneInString(before)
	return hyphen && unicode.IsLetter(r)
}

func multiplied(readings [][]value, by float64) [][]value {
	out := make([][]value, 0, len(readings))
	for _, r := range readings {
		if len(r) == 1 {
			out = append(out, []value{{is: r[0].is * by, unit: r[0].unit * by}})
		}
	}
	return out
}
