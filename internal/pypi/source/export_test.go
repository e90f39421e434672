package source

// ListPage reads a page of the index of s.
func ListPage(s *Sources, page []byte) ([]Listed, error) { return readPage(s.index, page) }
