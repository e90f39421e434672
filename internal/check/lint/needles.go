package lint

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// An expression is a regular expression with texts of which every match has at least one. Looking for those first makes
// the search of ordinary texts some ten times faster.
type expression struct {
	*regexp.Regexp
	needles []string // none: it cannot be told
}

// find returns the first places that match.
func (e *expression) find(text string) [][]int {
	if len(e.needles) > 0 && !slices.ContainsFunc(e.needles, func(n string) bool { return strings.Contains(text, n) }) {
		return nil
	}
	return e.FindAllStringIndex(text, maxMatches)
}

// exact returns a function that compiles an expression when it is first used.
func exact(source string) func() *expression {
	return sync.OnceValue(func() *expression { return compileExpression(source) })
}

// spoken is exact for normalized text, which has small letters only: the expression's letters are folded as those of texts are.
func spoken(source string) func() *expression {
	return sync.OnceValue(func() *expression {
		var b strings.Builder
		for _, r := range norm.NFKD.String(source) {
			if r == '。' || r == '’' { // it is one of a class, and no letter
				b.WriteRune(r)
			} else if r, ok := folded(r); ok {
				b.WriteRune(r)
			}
		}
		return compileExpression(b.String())
	})
}

func compileExpression(source string) *expression {
	e := &expression{Regexp: regexp.MustCompile(source)}
	if tree, err := syntax.Parse(source, syntax.Perl); err == nil {
		e.needles = needles(tree.Simplify())
	}
	return e
}

// needles returns texts of which each match of a tree has one, or nil.
func needles(tree *syntax.Regexp) []string {
	switch tree.Op {
	case syntax.OpLiteral:
		if tree.Flags&syntax.FoldCase == 0 {
			return []string{string(tree.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needles(tree.Sub[0])
	case syntax.OpRepeat:
		if tree.Min > 0 {
			return needles(tree.Sub[0])
		}
	case syntax.OpAlternate:
		var all []string
		for _, sub := range tree.Sub {
			some := needles(sub)
			if some == nil {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for _, sub := range tree.Sub {
			if some := needles(sub); some != nil && (best == nil || shortest(some) > shortest(best)) {
				best = some
			}
		}
		return best
	default:
	}
	return nil
}

// shortest returns the length of the shortest text: the longer it is, the rarer it is.
func shortest(all []string) int {
	n := len(all[0])
	for _, s := range all {
		n = min(n, len(s))
	}
	return n
}
