package main_test

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// A heap that may grow to nine times what is in use needs an end, that of the operator if there is one.
func TestHeapHasALimit(t *testing.T) {
	extent.Long(t)
	for _, c := range []struct {
		name     string
		variable string
		isRight  func(float64) bool
	}{
		{"of the machine", "GOMEMLIMIT=", func(n float64) bool { return n > 0 && n < math.MaxInt64/4 }},
		{"of the operator", "GOMEMLIMIT=300MiB", func(n float64) bool { return n == 300<<20 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := gauge(t, "go_gc_gomemlimit_bytes", c.variable); !c.isRight(got) {
				t.Errorf("the limit of the heap is %g", got)
			}
			if got := gauge(t, "go_gc_gogc_percent", c.variable); got != 800 {
				t.Errorf("GOGC is %g, want 800", got)
			}
		})
	}
}

var adminURL = regexp.MustCompile(`http://127\.0\.0\.1:\d+/?\s*$`)

// gauge starts the program as a server and returns one of its metrics.
func gauge(t *testing.T, name, variable string) float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), guesttest.Binary(t), "serve", "--data", guesttest.Data(t), "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--pool", "0", "--packages", "off")
	cmd.Env = append(os.Environ(), variable)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, said)
		_ = cmd.Wait() // how it ends is others' matter
	}()
	for lines := bufio.NewScanner(said); lines.Scan(); {
		t.Log(lines.Text())
		if url := adminURL.FindString(lines.Text()); url != "" {
			return metric(t, url+"/metrics", name)
		}
	}
	t.Fatal("the server ended before it was ready")
	return 0
}

func metric(t *testing.T, url, name string) float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(body)
	if found == nil {
		t.Fatalf("%s is not among the metrics", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
