package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"

	sdk "github.com/openai/openai-go/v3"

	"runpython/internal/llm"
)

// maxEventBytes bounds one event of a stream, which has a few tokens, and a whole call from some servers.
const maxEventBytes = 4 << 20

var errEventSize = errors.New("an event of the stream is too large")

// events returns the data of each event of a stream (HTML, section 9.2.6), the last one also when
// no empty line comes after it. An error is that of the reader, or that an event is too large.
func events(r io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEventBytes)
		var data []byte
		for lines.Scan() {
			line := lines.Bytes()
			if len(line) == 0 {
				if len(data) > 0 && !yield(data, nil) {
					return
				}
				data = data[:0]
				continue
			}
			value, isData := bytes.CutPrefix(line, []byte("data:"))
			if !isData {
				continue
			}
			value = bytes.TrimPrefix(value, []byte(" "))
			if len(data)+len(value) > maxEventBytes {
				yield(nil, errEventSize)
				return
			}
			if len(data) > 0 {
				data = append(data, '\n')
			}
			data = append(data, value...)
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, errEventSize)
		case err != nil:
			yield(nil, err)
		case len(data) > 0:
			yield(data, nil)
		}
	}
}

var errNotJSON = errors.New("the answer is not JSON")

// decode reads a chunk of a stream. The SDK's decoder is tolerant: what has another type than it should, is
// null or is missing, is left empty.
func decode(data []byte) (sdk.ChatCompletionChunk, error) {
	var c sdk.ChatCompletionChunk
	if !json.Valid(data) {
		if data = llm.EscapeControls(data); !json.Valid(data) {
			return c, errNotJSON
		}
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return c, errNotJSON
	}
	if err := c.UnmarshalJSON(data); err != nil {
		return c, errNotJSON
	}
	return c, nil
}

// whole reads an answer at once, as a server gives it that does not stream, as one chunk.
func whole(data []byte) (sdk.ChatCompletionChunk, error) {
	c, err := decode(data)
	if err != nil {
		return c, err
	}
	var at sdk.ChatCompletion
	if err := at.UnmarshalJSON([]byte(c.RawJSON())); err != nil {
		return c, errNotJSON
	}
	for i := range min(len(c.Choices), len(at.Choices)) {
		if message := at.Choices[i].JSON.Message.Raw(); message != "" {
			if err := c.Choices[i].Delta.UnmarshalJSON([]byte(message)); err != nil {
				return c, errNotJSON
			}
		}
	}
	return c, nil
}
