package content

import (
	"errors"
	"os"
)

// EndWithoutClose does what the system does when the process is killed.
func (s *Store) EndWithoutClose() error {
	killed := s.lock
	var err error
	s.own += "-gone" // Close finds nothing
	s.lock, err = os.Open(os.DevNull)
	return errors.Join(err, killed.Close())
}
