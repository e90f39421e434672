package pypi

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/environment"
)

// maxLate bounds the environments that wait for bytecode of one wheel; further ones go
// without, which costs their imports some time and nothing else.
const maxLate = 100

// late remembers the environments that were made of wheels before these were compiled.
type late struct {
	mu      sync.Mutex          // guards folders
	folders map[string][]string // by the digest of the wheel
}

// add remembers that folder wants the bytecode of a wheel.
func (l *late) add(sum, folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if list := l.folders[sum]; len(list) < maxLate && !slices.Contains(list, folder) {
		l.folders[sum] = append(list, folder)
	}
}

// forget takes add back.
func (l *late) forget(sum, folder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := slices.DeleteFunc(l.folders[sum], func(f string) bool { return f == folder })
	if l.folders[sum] = list; len(list) == 0 {
		delete(l.folders, sum)
	}
}

// take returns who waits for a wheel and forgets them.
func (l *late) take(sum string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.folders[sum]
	delete(l.folders, sum)
	return list
}

// compiled is told that a wheel has its bytecode now.
func (in *Installer) compiled(ctx context.Context, h *cache.Held) {
	part := environment.Part{Content: h.Content, Tree: h.Tree}
	for _, folder := range in.late.take(h.Content.Pin.SHA256) {
		if err := environment.AddBytecode(ctx, folder, part); err != nil && ctx.Err() == nil {
			in.config.Log.Warn("an environment goes without bytecode", slog.String("wheel", h.Content.Pin.File), slog.Any("error", err))
		}
	}
}
