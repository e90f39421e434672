package eval_test

import (
	"os"
	"testing"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/eval"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/llm"
	"runpython/internal/llm/vendors"
)

// program is the real program, with a model of the test's own or none.
type program struct {
	*app.App
	model llm.Model
}

func (p program) Model() llm.Model { return p.model }

// open opens the real program. Packages are in its guests only because the test puts them there.
func open(t *testing.T, model llm.Model) program {
	t.Helper()
	return program{openApp(t, func(c *config.Config) { c.Model = vendors.None }), model}
}

func openApp(t *testing.T, change func(*config.Config)) *app.App {
	t.Helper()
	c := config.Default(func(string) (string, bool) { return "", false })
	build := app.Build{Version: "test", Program: guesttest.Binary(t), Environment: os.Getenv(guesttest.WheelsVariable)}
	c.Data, c.Pool, c.Packages = guesttest.Data(t), 2, config.PackagesOff
	change(&c)
	a, err := app.Open(t.Context(), c, guesttest.Log(t), build)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// starterTasks is how many there are; docs/eval.md says so.
const starterTasks = 60

// sampled is how many tasks there are for one that is proved by "go test ./...".
const sampled = 6

// Every check of the tasks that are inside lets the right solution pass and refuses the wrong one.
func TestStarterIsProved(t *testing.T) {
	extent.Long(t)
	tasks, err := eval.Starter()
	if err != nil {
		t.Fatal(err)
	}
	if len(tasks) != starterTasks {
		t.Errorf("there are %d tasks, want %d", len(tasks), starterTasks)
	}
	names := make(map[string]bool)
	for _, task := range tasks {
		if names[task.Name] {
			t.Errorf("two tasks are called %s", task.Name)
		}
		names[task.Name] = true
	}
	guesttest.Wheels(t)
	if !extent.PlaysAll() {
		var some []eval.Task
		for i := 0; i < len(tasks); i += sampled {
			some = append(some, tasks[i])
		}
		t.Logf("%d of %d tasks; with %s=1 all are proved", len(some), len(tasks), extent.Variable)
		tasks = some
	}
	proofs, err := eval.Prove(t.Context(), open(t, nil), tasks, nil)
	if err != nil {
		t.Error(err)
	}
	for _, p := range proofs {
		if p.Problem != "" {
			t.Errorf("%s: %s", p.Task, p.Problem)
		}
	}
}
