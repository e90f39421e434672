package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"runpython/internal/cli/console"
	"runpython/internal/eval"
)

// tableWidth is how wide lines of the table of eval are at most, in characters.
const tableWidth = 80

// A taskTable is the table of eval, line by line.
type taskTable struct {
	width int // of the names
}

func newTaskTable(tasks []eval.Task) taskTable {
	t := taskTable{width: len("task")}
	for _, task := range tasks {
		t.width = max(t.width, len(task.Name))
	}
	return t
}

func (t taskTable) head() string {
	return fmt.Sprintf("%-*s  %6s  %5s  %7s  %8s\n", t.width, "task", "passed", "runs", "tokens", "time")
}

// row returns the line of a task, and below it why attempts have not passed. Runs, tokens and time are
// means of the attempts.
func (t taskTable) row(r eval.TaskReport) string {
	passed := "no"
	switch all := len(r.Attempts); {
	case all > 1:
		passed = fmt.Sprintf("%d/%d", r.Passed(), all)
	case r.Passed() == 1:
		passed = "yes"
	case r.Attempts[0].Broken:
		passed = "broken"
	}
	one := eval.Report{Tasks: []eval.TaskReport{r}}
	mean := meanOf(one.Total())
	text := fmt.Sprintf("%-*s  %6s  %5s  %7s  %8s\n", t.width, r.Name, passed, mean.runs, mean.tokens, mean.time)
	var said []string
	for _, a := range r.Attempts {
		if line := "  " + console.Clean(a.Why); a.Why != "" && !strings.Contains(strings.Join(said, ""), line) {
			said = append(said, cutTo(line, tableWidth)+"\n")
		}
	}
	return text + strings.Join(said, "")
}

// proof returns the line of a proof.
func (t taskTable) proof(p eval.Proof) string {
	if p.Problem == "" {
		return fmt.Sprintf("%-*s  proved\n", t.width, p.Task)
	}
	return fmt.Sprintf("%-*s  not proved\n%s\n", t.width, p.Task, cutTo("  "+console.Clean(p.Problem), tableWidth))
}

// foot returns the lines below the table.
func (taskTable) foot(r *eval.Report, sum eval.Total) string {
	text := fmt.Sprintf("\n%d of %d passed (%.1f %%)", sum.Passed, sum.Attempts, 100*sum.Rate())
	if sum.Broken > 0 {
		text += fmt.Sprintf(", %d more could not be played", sum.Broken)
	}
	mean := meanOf(sum)
	text += fmt.Sprintf("\nmean of an attempt: %s runs, %s tokens, %s\n", mean.runs, mean.tokens, mean.time)
	if sum.Cost > 0 {
		text += fmt.Sprintf("cost of all: %.4f\n", sum.Cost)
	}
	mode := ""
	if r.OneShot {
		mode = ", asked once, without the loop"
	}
	return text + "model: " + console.Clean(r.Model) + mode + "\n"
}

// means are numbers of a mean attempt, as they are shown.
type means struct{ runs, tokens, time string }

func meanOf(sum eval.Total) means {
	if sum.Attempts == 0 {
		return means{"-", "-", "-"}
	}
	n := float64(sum.Attempts)
	runs := fmt.Sprintf("%.1f", float64(sum.Runs)/n)
	return means{
		runs:   strings.TrimSuffix(runs, ".0"),
		tokens: fmt.Sprintf("%.0f", float64(sum.Tokens.Input+sum.Tokens.Output)/n),
		time:   fmt.Sprintf("%.1f s", (sum.Duration / time.Duration(sum.Attempts)).Seconds()),
	}
}

// cutTo returns at most n characters of a line, the last one an ellipsis where something is left out.
func cutTo(line string, n int) string {
	if utf8.RuneCountInString(line) <= n {
		return line
	}
	return string([]rune(line)[:n-1]) + "…"
}

// The forms of eval with --json, a contract.
type (
	useJSON struct {
		Runs         int     `json:"runs"`
		Requests     int     `json:"requests"`
		InputTokens  int     `json:"input_tokens"`
		OutputTokens int     `json:"output_tokens"`
		Estimated    bool    `json:"estimated"` // the numbers of tokens are not the server's
		Cost         float64 `json:"cost"`
		Unfounded    int     `json:"unfounded"` // answers with numbers that nothing supports
		Duration     float64 `json:"duration_ms"`
	}
	attemptJSON struct {
		Passed bool   `json:"passed"`
		Broken bool   `json:"broken"`
		Why    string `json:"why"`
		useJSON
	}
	taskJSON struct {
		Name     string        `json:"name"`
		Passed   int           `json:"passed"`
		Attempts []attemptJSON `json:"attempts"`
	}
	reportJSON struct {
		Model    string  `json:"model"`
		Mode     string  `json:"mode"` // loop or one-shot
		Passed   int     `json:"passed"`
		Attempts int     `json:"attempts"` // without broken ones
		Broken   int     `json:"broken"`
		Rate     float64 `json:"pass_rate"`
		useJSON
		Tasks []taskJSON `json:"tasks"`
	}
	proofJSON struct {
		Task    string `json:"task"`
		Problem string `json:"problem"` // "" when it is proved
	}
	proofsJSON struct {
		OK     bool        `json:"ok"`
		Proofs []proofJSON `json:"proofs"`
	}
)

func useForm(u eval.Use, d time.Duration) useJSON {
	return useJSON{
		Runs: u.Runs, Requests: u.Requests, InputTokens: u.Tokens.Input, OutputTokens: u.Tokens.Output,
		Estimated: u.Tokens.Estimated, Cost: u.Cost, Unfounded: u.Unfounded, Duration: milliseconds(d),
	}
}

func reportForm(r *eval.Report, sum eval.Total) reportJSON {
	form := reportJSON{
		Model: r.Model, Mode: "loop", Passed: sum.Passed, Attempts: sum.Attempts, Broken: sum.Broken, Rate: sum.Rate(),
		useJSON: useForm(sum.Use, sum.Duration), Tasks: []taskJSON{},
	}
	if r.OneShot {
		form.Mode = "one-shot"
	}
	for _, t := range r.Tasks {
		task := taskJSON{Name: t.Name, Passed: t.Passed(), Attempts: []attemptJSON{}}
		for _, a := range t.Attempts {
			task.Attempts = append(task.Attempts, attemptJSON{Passed: a.Passed, Broken: a.Broken, Why: a.Why, useJSON: useForm(a.Use, a.Duration)})
		}
		form.Tasks = append(form.Tasks, task)
	}
	return form
}

func proofsForm(proofs []eval.Proof, ok bool) proofsJSON {
	form := proofsJSON{OK: ok, Proofs: []proofJSON{}}
	for _, p := range proofs {
		form.Proofs = append(form.Proofs, proofJSON(p))
	}
	return form
}

// print prints lines on standard output, which may be the terminal that shows the status.
func (c *command) print(text string) error {
	c.status.Pause()
	defer c.status.Resume()
	if _, err := io.WriteString(c.Out, text); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
