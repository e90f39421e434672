package kernel

import (
	"errors"
	"testing"
)

// A guest that sends what is no picture, without end, fills nothing: one note tells of all, and
// after a number that no interpreter of ours sends it is given up.
func TestMessagesWithoutAPictureAreCounted(t *testing.T) {
	for name, body := range map[string][]byte{"empty": nil, "one byte": {1}} {
		t.Run(name, func(t *testing.T) {
			r := &run{kernel: &Kernel{}, n: 1, result: &Result{}}
			taken := 0
			var err error
			for err == nil && taken < 100*imagesPerRun {
				if err = r.addImage(&message{Op: "image", N: 1, body: body}); err == nil {
					taken++
				}
			}
			if !errors.Is(err, errProtocol) || taken != picturesTried {
				t.Errorf("%d messages were taken, then %v; want %d, then %v", taken, err, picturesTried, errProtocol)
			}
			if len(r.result.Notes) != 1 {
				t.Errorf("%d notes; want 1", len(r.result.Notes))
			}
		})
	}
}
