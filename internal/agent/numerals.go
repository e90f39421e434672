package agent

import (
	"math"
	"strconv"
	"strings"
)

// A numeral that is split: its groups of digits and what stands between them.
type groups struct {
	digits     []string
	separators []string
	exponent   string
}

// split takes a match of numeral apart.
func split(text string) groups {
	var g groups
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text, g.exponent = text[:i], text[i+1:]
	}
	for text != "" {
		n := digitsAt(text, 0)
		g.digits = append(g.digits, text[:n])
		text = text[n:]
		n = strings.IndexAny(text, "0123456789")
		if n > 0 {
			g.separators = append(g.separators, text[:n])
			text = text[n:]
		}
	}
	return g
}

// readingsOf returns all that a numeral may mean, and what it begins with where that is a number too.
func readingsOf(text string) (all [][]value, begin []value) {
	g := split(text)
	last := len(g.separators) - 1
	if last < 0 {
		return [][]value{{g.value(g.digits[0], "")}}, nil
	}
	if last > 0 && g.separators[0] == "." {
		begin = []value{number(g.digits[0], g.digits[1])}
	}
	grouped := g.isGrouped(len(g.digits))
	if grouped {
		all = append(all, []value{g.value(strings.Join(g.digits, ""), "")})
	}
	if point := g.separators[last]; (point == "." || point == ",") && (last == 0 || g.separators[last-1] != point && g.isGrouped(last+1)) {
		all = append(all, []value{g.value(strings.Join(g.digits[:last+1], ""), g.digits[last+1])})
	}
	if !grouped || g.separators[0] == " " {
		all = append(all, g.apart())
	}
	return all, begin
}

// isGrouped reports whether the first n groups of digits are those of one whole number: up to three digits, and
// then three each; or two each and three at the end, as in India.
func (g groups) isGrouped(n int) bool {
	if len(g.digits[0]) > 3 || n < 2 && len(g.separators) < 1 {
		return false
	}
	for i := 1; i < n; i++ {
		size := len(g.digits[i])
		indian := g.separators[0] == "," && size == 2 && i < n-1 && len(g.digits[0]) <= 2
		if size != 3 && !indian || g.separators[i-1] != g.separators[0] {
			return false
		}
	}
	return true
}

// apart reads a list, a date or a version: what is between commas and spaces, with a decimal point where there is one
// only.
func (g groups) apart() []value {
	var all []value
	for i := 0; i < len(g.digits); i++ {
		pair := i < len(g.separators) && g.separators[i] == "." &&
			(i == 0 || g.separators[i-1] != ".") && (i+1 >= len(g.separators) || g.separators[i+1] != ".")
		if pair {
			all = append(all, number(g.digits[i], g.digits[i+1]))
			i++
			continue
		}
		all = append(all, number(g.digits[i], ""))
	}
	return all
}

// value returns the number of these digits, with the exponent of the numeral.
func (g groups) value(whole, fraction string) value {
	v := number(whole, fraction)
	if exponent, err := strconv.Atoi(g.exponent); err == nil {
		v = value{is: v.is * math.Pow10(exponent), unit: v.unit * math.Pow10(exponent)}
	}
	return v
}

// number returns a value by its digits. Zeros at the end of a whole number may come from rounding, as long as two
// digits are left that do not.
func number(whole, fraction string) value {
	whole = strings.TrimLeft(whole, "0")
	is, err := strconv.ParseFloat("0"+whole+"."+fraction+"0", 64)
	if err != nil { // out of range: as large as there is
		is = math.Inf(1)
	}
	v := value{is: is, unit: math.Pow10(-len(fraction))}
	if len(whole)+len(fraction) > floatDigits {
		v.long = strings.TrimLeft(whole+fraction, "0")
	}
	if fraction == "" {
		zeros := len(whole) - len(strings.TrimRight(whole, "0"))
		v.unit = math.Pow10(max(0, min(zeros, len(whole)-2)))
	}
	return v
}
