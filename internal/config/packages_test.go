package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/config"
)

// reveal returns the texts of secrets.
func reveal(secrets ...config.Secret) []string {
	var all []string
	for _, s := range secrets {
		all = append(all, s.Reveal())
	}
	return all
}

// Credentials in the address of an index arrive, and are shown nowhere, not even when the
// address is refused.
func TestIndexes(t *testing.T) {
	const index, extra = "https://ada:hunter2@index.test/simple", "corp=https://hunter2@corp.test/simple"
	path := file(t, "index-url: "+index+"\nextra-index-url: ["+extra+", http://127.0.0.1:3141/root]\n")
	c, err := load(environ("RUNPYTHON_CONFIG=" + path))
	if err != nil {
		t.Fatal(err)
	}
	got := reveal(append([]config.Secret{c.IndexURL}, c.ExtraIndexURLs...)...)
	if diff := cmp.Diff([]string{index, extra, "http://127.0.0.1:3141/root"}, got); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
	shown := fmt.Sprintf("%v %+v", c, c)
	for _, bad := range []string{"ftp://ada:hunter2@index.test/", "hunter2", "https://", "https://ada:hunter2@index.test/\n", "~/hunter2"} {
		for _, name := range []string{"index-url", "extra-index-url"} {
			_, err := load(environ(), "--"+name+"="+bad)
			if err == nil {
				t.Errorf("--%s=%s is taken", name, bad)
				continue
			}
			shown += err.Error()
			if _, err = load(environ("RUNPYTHON_CONFIG=" + file(t, fmt.Sprintf("%s: %q\n", name, bad)))); err == nil {
				t.Errorf("%s: %s in a file is taken", name, bad)
				continue
			}
			shown += err.Error()
		}
	}
	if strings.Contains(shown, "hunter2") {
		t.Errorf("a password is shown: %s", shown)
	}
}
