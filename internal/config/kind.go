package config

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A kind is a type of setting: how it is read, written and explained. The error
// of parse says what would be right and does not repeat the text.
type kind[T any] struct {
	arg    string
	limits string
	yaml   []string
	secret bool // see setting
	parse  func(text string) (T, error)
	format func(v T) string
}

// Tags of the scalars that a key of the file may have.
const (
	tagString = "!!str"
	tagInt    = "!!int"
	tagFloat  = "!!float"
	tagBool   = "!!bool"
)

// A refusedError is why a text is not a value.
type refusedError string

// Error returns the reason.
func (r refusedError) Error() string { return string(r) }

func refusal(format string, args ...any) error { return refusedError(fmt.Sprintf(format, args...)) }

// maxTextBytes bounds every setting that is free text.
const maxTextBytes = 4096

// quoted returns text for a message: in quotes, escaped and not endless.
func quoted(text string) string {
	const most = 80
	if len(text) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strconv.Quote(text)
}

func boolean() kind[bool] {
	return kind[bool]{
		yaml: []string{tagBool},
		parse: func(text string) (bool, error) {
			v, err := strconv.ParseBool(text)
			if err != nil {
				return false, refusal("must be true or false")
			}
			return v, nil
		},
		format: strconv.FormatBool,
	}
}

func count(least, most int) kind[int] {
	return kind[int]{
		arg: "N", limits: fmt.Sprintf("%d to %d", least, most),
		yaml: []string{tagInt},
		parse: func(text string) (int, error) {
			v, err := strconv.Atoi(text)
			if err != nil || v < least || v > most {
				return 0, refusal("must be a whole number from %d to %d", least, most)
			}
			return v, nil
		},
		format: strconv.Itoa,
	}
}

func fraction(least, most float64) kind[float64] {
	format := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	limits := format(least) + " to " + format(most)
	return kind[float64]{
		arg: "N", limits: limits,
		yaml: []string{tagInt, tagFloat},
		parse: func(text string) (float64, error) {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v >= least && v <= most) { // so written, NaN is refused
				return 0, refusal("must be a number from %s", limits)
			}
			return v, nil
		},
		format: format,
	}
}

func duration(least, most time.Duration) kind[time.Duration] {
	limits := shortDuration(least) + " to " + shortDuration(most)
	return kind[time.Duration]{
		arg: "TIME", limits: limits,
		yaml: []string{tagString},
		parse: func(text string) (time.Duration, error) {
			v, err := time.ParseDuration(text)
			if err != nil || v < least || v > most {
				return 0, refusal("must be a time with its unit from %s, such as 90s, 5m or 1h30m", limits)
			}
			return v, nil
		},
		format: shortDuration,
	}
}

// shortDuration writes 1m0s as 60s and 24h0m0s as 24h.
func shortDuration(d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d > 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

func choice(words ...string) kind[string] {
	list := strings.Join(words, ", ")
	return kind[string]{
		arg: "WORD", limits: list,
		yaml: []string{tagString},
		parse: func(text string) (string, error) {
			if !slices.Contains(words, text) {
				return "", refusal("must be one of: %s", list)
			}
			return text, nil
		},
		format: asIs,
	}
}

// optional makes the empty text a value of k: the setting is then off.
func optional[T any](k kind[T]) kind[T] {
	parse := k.parse
	k.limits = "" // help would name only half of the values
	k.parse = func(text string) (T, error) {
		if text == "" {
			var off T
			return off, nil
		}
		return parse(text)
	}
	return k
}

func level() kind[slog.Level] {
	words := choice("debug", "info", "warn", "error")
	return kind[slog.Level]{
		arg: words.arg, limits: words.limits, yaml: words.yaml,
		parse: func(text string) (slog.Level, error) {
			var v slog.Level
			if _, err := words.parse(text); err != nil {
				return v, err
			}
			return v, v.UnmarshalText([]byte(text))
		},
		format: func(v slog.Level) string { return strings.ToLower(v.String()) },
	}
}

// word is free text on one line; what it names is checked where it is used.
func word(arg string) kind[string] {
	return kind[string]{
		arg: arg, yaml: []string{tagString},
		parse: func(text string) (string, error) {
			switch {
			case text == "":
				return "", refusal("must not be empty")
			case len(text) > maxTextBytes:
				return "", refusal("must be at most %d bytes", maxTextBytes)
			case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
				return "", refusal("must be UTF-8 text without control characters")
			case text == "~" || strings.HasPrefix(text, "~/"):
				return "", refusal("\"~\" is not expanded here; write the whole path")
			}
			return text, nil
		},
		format: asIs,
	}
}

// then is k for values that pass a further check as well, which may put them into another form.
func (k kind[T]) then(check func(value T) (T, error)) kind[T] {
	first := k.parse
	k.parse = func(text string) (T, error) {
		value, err := first(text)
		if err != nil {
			return value, err
		}
		return check(value)
	}
	return k
}

// directory is a path, made absolute. It need not exist.
func directory() kind[string] {
	return word("DIR").then(func(path string) (string, error) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", refusal("must be an absolute path, since the working directory is gone")
		}
		return abs, nil
	})
}

// executable is the path of a program, or its name to look for on PATH.
func executable() kind[string] {
	k := word("PATH").then(func(path string) (string, error) {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", refusal("must be an executable file that exists")
		}
		abs, err := filepath.Abs(found)
		if err != nil {
			return "", refusal("must be an absolute path, since the working directory is gone")
		}
		return abs, nil
	})
	return optional(k)
}

// address is the host:port of a listener: an IP address, localhost, or nothing for
// every address of the machine. Names are refused, since what they mean can change.
func address(off bool) kind[string] {
	k := kind[string]{
		arg: "HOST:PORT", yaml: []string{tagString},
		parse: func(text string) (string, error) {
			host, _, ok := splitAddress(text)
			if !ok {
				return "", refusal("must be IP:PORT with a port from 0 to 65535, such as 127.0.0.1:8000 or [::1]:8000")
			}
			if _, err := netip.ParseAddr(host); err != nil && host != "" && host != "localhost" {
				return "", refusal("must have an IP address or localhost before the port")
			}
			return text, nil
		},
		format: asIs,
	}
	if off {
		return optional(k)
	}
	return k
}

func asIs(text string) string { return text }

// maxHostBytes is the longest name of a host (RFC 1035).
const maxHostBytes = 253

// hostName is the name of a host as it stands in URLs, without a port.
func hostName() kind[string] {
	return kind[string]{
		arg: "NAME", yaml: []string{tagString},
		parse: func(text string) (string, error) {
			if !isHostName(text) {
				return "", refusal("must be the name of a host as in a URL, such as run.example.org, without scheme and port")
			}
			return text, nil
		},
		format: func(v string) string { return v },
	}
}

// isHostName reports whether a text may be a host in a URL as browsers send it: other letters than those of ASCII are encoded there.
func isHostName(text string) bool {
	return text != "" && len(text) <= maxHostBytes && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	})
}
