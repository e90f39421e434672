package probe

import (
	"net/http"
	"strings"
)

// maxParameters bounds those of a challenge.
const maxParameters = 32

// A Challenge is what a WWW-Authenticate header asks for (RFC 9110, 11.6.1).
type Challenge struct {
	Scheme     string            // in small letters
	Parameters map[string]string // names in small letters
}

// challenges reads all challenges of an answer. What cannot be read is left out.
func challenges(h http.Header) []Challenge {
	var all []Challenge
	for _, text := range h.Values("Www-Authenticate") {
		all = append(all, parseChallenges(text)...)
	}
	return all
}

// parseChallenges reads one header. A word that is followed by a space and no equals sign begins a challenge.
func parseChallenges(text string) []Challenge {
	var all []Challenge
	for {
		text = strings.TrimLeft(text, ", \t")
		name, rest := token(text)
		if name == "" {
			return all
		}
		after := strings.TrimLeft(rest, " \t")
		value, isParameter := strings.CutPrefix(after, "=")
		if !isParameter {
			all = append(all, Challenge{Scheme: strings.ToLower(name), Parameters: map[string]string{}})
			text = after
			continue
		}
		var v string
		if v, text = parameterValue(strings.TrimLeft(value, " \t=")); len(all) > 0 {
			p := all[len(all)-1].Parameters
			if _, twice := p[strings.ToLower(name)]; !twice && len(p) < maxParameters {
				p[strings.ToLower(name)] = v
			}
		}
	}
}

// token cuts a token (RFC 9110, 5.6.2), or one of token68, off the beginning of text.
func token(text string) (word, rest string) {
	n := 0
	for n < len(text) && (strings.IndexByte("!#$%&'*+-.^_`|~/", text[n]) >= 0 || alphanumeric(text[n])) {
		n++
	}
	return text[:n], text[n:]
}

func alphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// parameterValue cuts a token or a quoted string off the beginning of text.
func parameterValue(text string) (value, rest string) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ", \t")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:]
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:]
		case '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), ""
}
