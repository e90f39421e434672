package requirement

import (
	pep440 "github.com/aquasecurity/go-pep440-version"

	"runpython/internal/fault"
)

// Admits reports whether a version is in the range of versions that clauses give, as in ">=3.12,<4" (PEP 440). What is
// neither is a fault of kind Invalid.
func Admits(clauses, version string) (bool, error) {
	v, err := pep440.Parse(version)
	if err != nil {
		return false, fault.New(fault.Invalid, err, quoted(version)+" is no version")
	}
	if len(clauses) > maxBytes {
		return false, fault.New(fault.Invalid, nil, quoted(clauses)+" is too long for a range of versions")
	}
	all, err := pep440.NewSpecifiers(clauses)
	if err != nil {
		return false, fault.New(fault.Invalid, err, quoted(clauses)+" is no range of versions")
	}
	return all.Check(v), nil
}
