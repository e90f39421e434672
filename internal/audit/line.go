package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// A record is a line before its hash. Its fields are a contract, see docs/operate.md.
type record struct {
	Seq     uint64    `json:"seq"` // from 1, without gaps
	Time    time.Time `json:"time"`
	Kind    Kind      `json:"kind"`
	Subject string    `json:"subject"`
	Address string    `json:"address,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Chat    string    `json:"chat,omitempty"`
	Object  string    `json:"object,omitempty"`
	Count   int       `json:"count,omitempty"`
	Lost    int       `json:"lost,omitempty"` // events before it that the process could not write
	Torn    int       `json:"torn,omitempty"` // bytes of an unfinished line before it, which were taken away
	Prev    string    `json:"prev"`           // hash of the line before; of the first one noHash
}

// A state is what the next line must follow. The zero value is that before the first line.
type state struct {
	Seq  uint64
	Hash string
}

// How a line ends: its hash is of all that is before, with the brace that closes it.
const (
	hashHead = `,"hash":"`
	hashTail = `"}`
	hashSize = 2 * sha256.Size
)

// noHash is what the first line of a log follows.
func noHash() string { return strings.Repeat("0", hashSize) }

// encode returns the line of an event after another one, with its line feed.
func encode(after state, e Event, lost, torn int) (state, []byte, error) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if after.Hash == "" {
		after.Hash = noHash()
	}
	r := record{
		Seq: after.Seq + 1, Time: e.Time.UTC().Truncate(time.Microsecond), Kind: Kind(bounded(string(e.Kind))),
		Subject: bounded(e.Subject), Address: bounded(e.Address), Outcome: bounded(e.Outcome), Chat: bounded(e.Chat),
		Object: bounded(e.Object), Count: e.Count, Lost: lost, Torn: torn, Prev: after.Hash,
	}
	body, err := json.Marshal(r)
	if err != nil {
		return state{}, nil, err
	}
	hash := hashOf(body)
	line := append(body[:len(body)-1], hashHead+hash+hashTail+"\n"...)
	return state{Seq: r.Seq, Hash: hash}, line, nil
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Why a line is none.
var (
	errNotALine = errors.New("it is no line of an audit log")
	errChanged  = errors.New("its hash is not that of its content: it was changed")
)

// decode reads a line without its line feed, and checks it for itself.
func decode(line []byte) (record, state, error) {
	body, ok := bytes.CutSuffix(line, []byte(hashTail))
	at := len(body) - hashSize - len(hashHead)
	if !ok || at < 0 || string(body[at:at+len(hashHead)]) != hashHead {
		return record{}, state{}, errNotALine
	}
	hash := string(body[at+len(hashHead):])
	whole := append(bytes.Clone(body[:at]), '}')
	if hashOf(whole) != hash {
		return record{}, state{}, errChanged
	}
	var r record
	if err := json.Unmarshal(whole, &r); err != nil {
		return record{}, state{}, errNotALine
	}
	return r, state{Seq: r.Seq, Hash: hash}, nil
}
