package eval

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
)

// starter are sets of tasks, one for each area.
//
//go:embed starter/*.yaml
var starter embed.FS

// Starter returns the tasks that are inside.
func Starter() ([]Task, error) {
	names, err := fs.Glob(starter, "starter/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("find the tasks that are inside: %w", err)
	}
	var all []Task
	for _, name := range names {
		text, err := starter.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the tasks that are inside: %w", err)
		}
		tasks, err := Read(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
		all = append(all, tasks...)
	}
	return all, nil
}
