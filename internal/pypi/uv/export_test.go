package uv

import "runpython/internal/pypi/requirement"

// Explain words what a uv for Python 3.14 has printed about requirements.
func Explain(printed string, asked ...requirement.Requirement) string {
	c := newComplaint(Query{Requirements: asked}, printed, "3.14")
	_, message, _ := c.explanation()
	return message
}

// Warnings reads what uv says of a set that it has resolved.
func Warnings(printed string) []string { return warnings(printed) }
