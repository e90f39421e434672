package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"runpython/internal/agent"
	"runpython/internal/llm"
	"runpython/internal/llm/openai"
	"runpython/internal/llm/wire"
)

type tracing struct {
	llm.Model
	t *testing.T
}

func (m tracing) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	began := time.Now()
	got, err := m.Model.Complete(ctx, r)
	if err != nil {
		m.t.Logf("ERROR %v", err)
		return nil, err
	}
	m.t.Logf("<<< %.1fs %v\n%s", time.Since(began).Seconds(), got.Usage, got.Message.Text)
	return got, nil
}

func TestReal(t *testing.T) {
	url := os.Getenv("REAL_URL")
	if url == "" {
		t.Skip()
	}
	m := openai.New(openai.Config{Server: &wire.Server{Name: "local", Model: "local", Local: true}, BaseURL: url + "/v1", Name: "local/q05", HTTP: http.DefaultClient, Extra: map[string]any{"temperature": 0, "seed": 42}})
	tasks := [][2]string{
		{"How many days are between 2024-02-10 and 2024-05-01?", "81"},
		{"What is the sum of the primes below 100?", "1060"},
		{"How much is 17 % of 2340?", "397.8"},
		{"Reverse the word 'stressed'.", "desserts"},
		{"What is the 20th Fibonacci number, if the first two are 1 and 1?", "6765"},
		{"How many vowels are in 'The quick brown fox jumps over the lazy dog'?", "11"},
		{"What weekday was 1969-07-20?", "Sunday"},
		{"What is the median of 3, 9, 1, 14, 7, 2?", "5"},
		{"Convert 100 degrees Fahrenheit to Celsius, with two digits.", "37.78"},
		{"What is the greatest common divisor of 1071 and 462?", "21"},
	}
	right, worded := 0, 0
	for _, task := range tasks {
		var out string
		a := agent.New(agent.Options{Model: tracing{m, t}, Protocol: agent.Fenced, Local: true, Log: discard(), Facts: agent.Facts{RunTimeout: time.Minute, MemoryBytes: 1 << 30, Packages: "auto"}})
		got, err := a.Answer(t.Context(), agent.Task{Message: task[0], Run: func(ctx context.Context, c agent.Code) (*agent.Outcome, error) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "python3", "-I", "-c", c.Source)
			cmd.Dir = "/tmp/agentreal"
			var so, se bytes.Buffer
			cmd.Stdout, cmd.Stderr = &so, &se
			err := cmd.Run()
			out = so.String()
			o := &agent.Outcome{Text: "Output:\n```\n" + so.String() + "```"}
			if so.Len() == 0 {
				o.Text = "The code ran and printed nothing."
			}
			if err != nil {
				lines := strings.Split(strings.TrimSpace(se.String()), "\n")
				o.Text, o.Error = "Error:\n```\n"+se.String()+"```", lines[len(lines)-1]
			}
			return o, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		ok := strings.Contains(out, task[1])
		if ok {
			right++
		}
		if strings.Contains(got.Words, task[1]) {
			worded++
		}
		fmt.Printf("%v %-40.40s out=%.40q words=%.100q end=%s runs=%d req=%d unf=%v in=%d out=%d\n", ok, task[0], out, got.Words, got.End, got.Runs, got.Requests, got.Unfounded, got.Usage.Input, got.Usage.Output)
	}
	fmt.Printf("RIGHT %d WORDED %d\n", right, worded)
}
