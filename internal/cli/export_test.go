package cli

// SafePath is what makes a name of a guest safe.
func SafePath(name string) string { return safePath(name) }
