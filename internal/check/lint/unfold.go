package lint

import "strings"

// maxUnfolded is how many parts a schema may have when each reference is replaced by what it refers to. Validation visits
// each of them; a reference that leads back to itself would be visited without end.
const maxUnfolded = 10_000

// unfolds reports whether a schema has an end, and few enough parts, when its references are followed. Those that are no
// pointers into the schema itself are not followed, and so not taken.
func unfolds(schema map[string]any) bool {
	u := unfolding{root: schema, sizes: map[string]int{}}
	n := u.size(schema)
	return n > 0 && n <= maxUnfolded
}

// An unfolding counts the parts of a schema. The size of what has no end, or is too large, is 0.
type unfolding struct {
	root  map[string]any
	sizes map[string]int // by reference; 0 while it is counted
}

func (u *unfolding) size(v any) int {
	n := 1
	add := func(part int) bool {
		n += part
		return part != 0 && n <= maxUnfolded
	}
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			if !add(u.member(name, part)) {
				return 0
			}
		}
	case []any:
		for _, part := range v {
			if !add(u.size(part)) {
				return 0
			}
		}
	}
	return n
}

// member returns the size of a member of an object, of a reference that of what it refers to.
func (u *unfolding) member(name string, v any) int {
	pointer, isText := v.(string)
	switch {
	case name == "$dynamicRef", name == "$recursiveRef", name == "$id" && isText && pointer != "":
		return 0
	case name == "$ref" && isText:
		return u.reference(pointer)
	}
	return u.size(v)
}

// reference returns the size of what a JSON pointer (RFC 6901) names.
func (u *unfolding) reference(pointer string) int {
	if n, known := u.sizes[pointer]; known {
		return n
	}
	u.sizes[pointer] = 0
	path, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return 0
	}
	var at any = u.root
	for step := range strings.SplitSeq(path, "/") {
		object, isObject := at.(map[string]any)
		if !isObject {
			return 0
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	u.sizes[pointer] = u.size(at)
	return u.sizes[pointer]
}
