package content

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Hold holds contents that are there once each, until Release, and returns the others.
func (s *Store) Hold(names []string) (missing []string, err error) {
	door, err := s.shareDoor()
	if err != nil {
		return nil, fmt.Errorf("hold kept files: %w", err)
	}
	defer func() { err = errors.Join(err, door.Close()) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		link := filepath.Join(s.own, "hold-"+strings.ToLower(rand.Text()))
		err := os.Link(s.path(name), link)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("hold kept files: %w", err)
		default:
			s.held[name] = append(s.held[name], link)
		}
	}
	return missing, nil
}

// PathOf returns where content of a name is in a folder of contents, relative to it.
func PathOf(name string) string { return filepath.Join(name[:2], name[2:]) }
