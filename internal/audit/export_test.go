package audit

import "bytes"

// VerifyText is Verify for the text of one file, and returns how many lines it has.
func VerifyText(name string, text []byte) (int, error) {
	var v verification
	err := v.read(bytes.NewReader(text), name, true)
	return v.report.Lines, err
}
