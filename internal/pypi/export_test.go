package pypi

// PruneAnswers removes answers from a folder.
func PruneAnswers(dir string) error { return answers{dir: dir}.prune() }
