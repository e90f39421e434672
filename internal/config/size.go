package config

import (
	"math"
	"strconv"
	"strings"
)

// A unit is a word after a size. One letter and the -iB forms are powers of 1024,
// the -B forms powers of 1000.
type unit struct {
	word  string
	bytes int64
}

// units returns them from the largest; the first of a size is the one for messages.
func units() []unit {
	return []unit{
		{"TiB", 1 << 40}, {"T", 1 << 40}, {"TB", 1e12},
		{"GiB", 1 << 30}, {"G", 1 << 30}, {"GB", 1e9},
		{"MiB", 1 << 20}, {"M", 1 << 20}, {"MB", 1e6},
		{"KiB", 1 << 10}, {"K", 1 << 10}, {"KB", 1e3},
		{"B", 1}, {"", 1},
	}
}

func size(least, most int64) kind[int64] {
	limits := FormatSize(least) + " to " + FormatSize(most)
	return kind[int64]{
		arg: "SIZE", limits: limits,
		yaml: []string{tagString, tagInt},
		parse: func(text string) (int64, error) {
			v, ok := parseSize(text)
			if !ok || v < least || v > most {
				return 0, refusal("must be a size from %s, such as 512MiB, 1g or a number of bytes", limits)
			}
			return v, nil
		},
		format: FormatSize,
	}
}

// parseSize reads a decimal number with an optional unit that makes a whole number of bytes.
func parseSize(text string) (bytes int64, ok bool) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	number, word := text[:end], strings.TrimSpace(text[end:])
	if strings.Trim(number, "0123456789.") != "" { // no sign, exponent, infinity
		return 0, false
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	for _, u := range units() {
		if strings.EqualFold(u.word, word) {
			v *= float64(u.bytes)
			const exact = 1 << 53 // below it a float64 has every whole number
			return int64(v), v == math.Trunc(v) && v <= exact
		}
	}
	return 0, false
}

// FormatSize writes bytes in the largest unit of 1024 that divides them: 1GiB, 1536MiB.
func FormatSize(bytes int64) string {
	for _, u := range units() {
		if strings.HasSuffix(u.word, "iB") && bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatInt(bytes/u.bytes, 10) + u.word
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}
