package passkeytest

import "encoding/binary"

// pair is an entry of a map of CBOR, both encoded.
type pair struct{ key, value []byte }

// cborHead begins an item of a major type (RFC 8949, 3).
func cborHead(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 1<<8:
		return []byte{major<<5 | 24, byte(n)}
	default:
		return binary.BigEndian.AppendUint16([]byte{major<<5 | 25}, uint16(n))
	}
}

func cborInt(n int) []byte {
	if n < 0 {
		return cborHead(1, -1-n)
	}
	return cborHead(0, n)
}

func cborBytes(b []byte) []byte { return append(cborHead(2, len(b)), b...) }

func cborText(s string) []byte { return append(cborHead(3, len(s)), s...) }

func cborMap(pairs ...pair) []byte {
	all := cborHead(5, len(pairs))
	for _, p := range pairs {
		all = append(append(all, p.key...), p.value...)
	}
	return all
}
