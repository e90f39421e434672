package uv

// Explain words what a uv for Python 3.14 has printed about requirements that nobody
// named.
func Explain(printed string) string {
	c := newComplaint(Query{}, printed, "3.14")
	_, message, _ := c.explanation()
	return message
}

// Warnings reads what uv says of a set that it has resolved.
func Warnings(printed string) []string { return warnings(printed) }
