package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The person goes where the suite asks somebody to go, nowhere else, and comes back to it.
func TestGuide(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("the person is written in Python, which is not here")
	}
	const said = "Open this page:\n  http://as.example/authorize?a=b\nhttp://other.example/authorize?a=b\nWaiting\n"
	for name, test := range map[string]struct {
		script string // prints where the person comes back
		want   []string
		errs   string
	}{
		"comes back":      {"import sys, os\nprint(os.environ['BACK'] + '/callback?to=' + sys.argv[1] + sys.argv[2][-3:])", []string{"/callback?to=allowa=b"}, ""},
		"is not let in":   {"raise SystemExit('no form here')", nil, "no form here"},
		"comes elsewhere": {"import os\nprint(os.environ['BACK'] + '/other')", []string{"/other"}, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			var visits []string
			suite := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				visits = append(visits, r.URL.String())
				if r.URL.Path != "/callback" {
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer suite.Close()
			t.Setenv("BACK", suite.URL)
			p := person{script: filepath.Join(t.TempDir(), "person.py"), password: "x"}
			if err := os.WriteFile(p.script, []byte(test.script), 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			err := p.guide(t.Context(), "http://as.example", strings.NewReader(said), &log)
			if (err == nil) != (test.errs == "") || err != nil && !strings.Contains(err.Error(), test.errs) {
				t.Errorf("guide() = %v, want an error with %q", err, test.errs)
			}
			if diff := cmp.Diff(test.want, visits); diff != "" {
				t.Errorf("visits (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(said, log.String()); diff != "" {
				t.Errorf("what was read (-want +got):\n%s", diff)
			}
		})
	}
}
