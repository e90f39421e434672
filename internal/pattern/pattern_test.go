package pattern_test

import (
	"testing"

	"runpython/internal/pattern"
)

func TestPatternIsCompiledOnce(t *testing.T) {
	word := pattern.New(`^[a-z]+$`)
	if !word().MatchString("abc") || word().MatchString("a c") {
		t.Error("the expression matches something else")
	}
	if first, again := word(), word(); first != again {
		t.Error("it is compiled at each use")
	}
}

func TestWrongPatternPanicsAtItsUse(t *testing.T) {
	wrong := pattern.New(`(`)
	defer func() {
		if recover() == nil {
			t.Error("a wrong expression is used without a word")
		}
	}()
	wrong()
}
