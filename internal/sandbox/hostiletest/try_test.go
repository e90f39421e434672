package hostiletest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/hostiletest"
)

func TestTry(t *testing.T) {
	programs, err := hostiletest.Load("../testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(os.Getenv("TRY"))
	s := guesttest.NewSetup(t)
	s.Config.Limits.MemoryBytes = 256 << 20
	python := guesttest.Python(t)
	s.Config.Program = kernel.Program(python.Programs, python.Key, s.Config.Limits)
	h := s.Open(t)
	out, _ := os.OpenFile("/tmp/probe/try.log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	defer out.Close()
	for _, p := range programs {
		if !only.MatchString(p.Name) {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			begin := time.Now()
			bad := try(t, s, h, p)
			fmt.Fprintf(out, "%s %s %v %s\n", map[bool]string{true: "GOOD", false: "BAD "}[bad == ""], p.Name, time.Since(begin).Round(time.Millisecond), bad)
		})
	}
}

func all(r *kernel.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v %v", r.Notes, r.ExitText, r.Signal)
	if r.Value != nil {
		b.WriteString(r.Value.Text)
	}
	if r.Error != nil {
		b.WriteString(r.Error.Type + r.Error.Message + r.Error.Traceback)
	}
	return b.String()
}

func run(t *testing.T, k *kernel.Kernel, code string) (*kernel.Result, error) {
	return k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}})
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n/2] + "…" + s[len(s)-n/2:]
	}
	return s
}

func try(t *testing.T, s *guesttest.Setup, h *sandbox.Host, p hostiletest.Program) string {
	k := s.Kernel(t, h, 5*time.Second)
	if _, err := run(t, k, "kept_mark = 12345"); err != nil {
		return err.Error()
	}
	if p.Setup != "" {
		if _, err := run(t, k, p.Setup); err != nil {
			return err.Error()
		}
	}
	var bad []string
	b0 := time.Now()
	r, err := run(t, k, p.Code)
	if err != nil {
		return err.Error()
	}
	took := time.Since(b0)
	stdout := r.Stdout.Text(3 << 20)
	rest := all(r)
	status := string(r.Status)
	if !p.Fits(status) {
		bad = append(bad, "status "+status)
	}
	if took > 9*time.Second {
		bad = append(bad, "took "+took.String())
	}
	for _, x := range p.StdoutHas {
		if !strings.Contains(stdout, x) {
			bad = append(bad, "no stdout "+x)
		}
	}
	for _, x := range p.StdoutNot {
		if strings.Contains(stdout+rest, x) {
			bad = append(bad, "has "+x)
		}
	}
	for _, x := range p.ErrorHas {
		switch {
		case x == "5 s" && r.Status == kernel.TimedOut, x == "256 MiB" && r.Status == kernel.Memory, x == "files in /work" && r.Status == kernel.Files:
		case strings.HasPrefix(x, "status ") && x == fmt.Sprintf("status %d", r.ExitCode):
		case !strings.Contains(rest, x):
			bad = append(bad, "no error "+x)
		}
	}
	info := fmt.Sprintf("| status=%s reset=%v lost=%v took=%v peak=%dMiB", status, r.Reset, r.Lost, took.Round(time.Millisecond), r.PeakBytes>>20)
	if r.Lost {
		if p.After == hostiletest.Kept {
			bad = append(bad, "lost")
		}
		_ = k.Close()
		k = s.Kernel(t, h, 5*time.Second)
	}
	b0 = time.Now()
	r2, err := run(t, k, "6*7")
	if err != nil {
		bad = append(bad, "6*7: "+err.Error())
	} else if r2.Value == nil || r2.Value.Text != "42" {
		bad = append(bad, fmt.Sprintf("6*7: %s %v %s", r2.Status, r2.Value, cut(all(r2), 300)))
	}
	info += fmt.Sprintf(" next=%v", time.Since(b0).Round(time.Millisecond))
	if p.After == hostiletest.Kept {
		r3, err := run(t, k, "kept_mark")
		if err != nil || r3.Value == nil || r3.Value.Text != "12345" {
			bad = append(bad, fmt.Sprintf("not kept %v", err))
		}
	}
	if p.Next != "" {
		r4, err := run(t, k, p.Next)
		if err != nil || r4.Value == nil || r4.Value.Text != p.NextValue {
			text := ""
			if r4 != nil {
				text = cut(string(r4.Status)+" "+all(r4), 300)
			}
			bad = append(bad, fmt.Sprintf("next %v %s", err, text))
		}
	}
	if err := k.Close(); err != nil {
		bad = append(bad, "close "+err.Error())
	}
	if len(bad) == 0 {
		return ""
	}
	return strings.Join(bad, "; ") + info + " rest=" + cut(strings.ReplaceAll(rest, "\n", "\\n"), 600) + " stdout=" + cut(strings.ReplaceAll(stdout, "\n", "\\n"), 300)
}
