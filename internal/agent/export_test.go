package agent

// Unfounded lets tests look at numbers without a task.
var Unfounded = unfounded

// ReadArguments lets tests look at arguments without a task. ok is whether there is code in them.
func ReadArguments(text string) (c Code, leftOut []string, ok bool) {
	o := readArguments(text)
	return o.code, o.leftOut, !o.unusable
}
