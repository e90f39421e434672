package report

import (
	"fmt"
	"html/template"
	"io"
	"sync"
	"unicode/utf8"
)

// badgeTemplate is a label and a value side by side, as badges are. Its numbers are of our own making.
var badgeTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("badge").Parse(`<svg xmlns="http://www.w3.org/2000/svg" width="{{.Width}}" height="20" role="img" aria-labelledby="t"><title id="t">{{.Title}}</title><rect width="{{.Width}}" height="20" rx="3" fill="#444"/><path d="M{{.Left}} 0h{{.Flat}}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{{.Flat}}z" fill="{{.Colour}}"/><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" aria-hidden="true"><text x="{{.MiddleLeft}}" y="14">{{.Label}}</text><text x="{{.MiddleRight}}" y="14">{{.Value}}</text></g></svg>
`))
})

// Colours of badges, each with a contrast to white of 4.5 to 1 or more.
const (
	badgeGood    = "#1f7a34"
	badgeFair    = "#8a6100"
	badgeBad     = "#b3261e"
	badgeUnknown = "#5f6368"

	goodScore = 90
	fairScore = 70
)

// writeBadge writes the lowest score as a picture.
func writeBadge(w io.Writer, s *Set) error {
	value, colour := lowest(s)
	const label, perRune, padding = "MCP check", 7, 12
	left := utf8.RuneCountInString(label)*perRune + padding
	right := utf8.RuneCountInString(value)*perRune + padding
	return badgeTemplate().Execute(w, map[string]any{ //nolint:wrapcheck // Write says what was written
		"Title": label + ": " + value, "Label": label, "Value": value, "Colour": colour,
		"Width": left + right, "Left": left, "Flat": right - 3, "MiddleLeft": left / 2, "MiddleRight": left + right/2,
	})
}

// lowest returns the lowest score of a set in words, and its colour.
func lowest(s *Set) (value, colour string) {
	least := 101
	for _, r := range s.Reports {
		if r.Score == nil {
			return "no score", badgeUnknown
		}
		least = min(least, *r.Score)
	}
	switch {
	case least > 100 || len(s.Failures) > 0:
		return "no score", badgeUnknown
	case least >= goodScore:
		colour = badgeGood
	case least >= fairScore:
		colour = badgeFair
	default:
		colour = badgeBad
	}
	return fmt.Sprintf("%d / 100", least), colour
}
