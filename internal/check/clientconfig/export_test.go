package clientconfig

// Strict is what makes JSON of what editors write.
func Strict(text []byte) []byte { return strict(text) }
