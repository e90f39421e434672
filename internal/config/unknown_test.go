package config_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/config"
)

func TestUnknownVariables(t *testing.T) {
	got := config.UnknownVariables([]string{
		"PATH", "RUNPYTHON_MEMROY", "RUNPYTHON_MEMORY", "RUNPYTHON_CONFIG", "RUNPYTHON_TEST_WHEELS", "RUNPYTHON_FROB", "RUNPYTHON_OPENFILES",
	})
	want := []string{
		`the variable "RUNPYTHON_FROB" is no setting and is ignored`,
		`the variable "RUNPYTHON_MEMROY" is no setting and is ignored; did you mean "RUNPYTHON_MEMORY"?`,
		`the variable "RUNPYTHON_OPENFILES" is no setting and is ignored; did you mean "RUNPYTHON_OPEN_FILES"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint("RUNPYTHON_X", i))
	}
	if n := len(config.UnknownVariables(many)); n != 10 {
		t.Errorf("%d of %d are told, want 10", n, len(many))
	}
}
