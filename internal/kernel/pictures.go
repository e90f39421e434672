package kernel

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // pictures of guests are checked
	_ "image/png"
	"slices"
	"strings"
)

// picturesTried is how many pictures may come in a run, those that are none included. The
// guest's interpreter sends imagesPerRun at most.
const picturesTried = 2 * imagesPerRun

const noPicture = "a picture was left out: it is not a PNG or JPEG of reasonable size"

// addImage checks a picture and keeps it. More than the bounds ends the guest,
// whose interpreter keeps to them.
func (r *run) addImage(m *message) error {
	if m.N != r.n {
		return nil
	}
	r.shown++
	r.bytes += len(m.body)
	if r.shown > picturesTried || len(r.result.Images) >= imagesPerRun || len(m.body) > imageBytes || r.bytes > picturesBytes {
		return fmt.Errorf("%w: more than %d pictures or %d bytes of them", errProtocol, imagesPerRun, picturesBytes)
	}
	config, format := pictureOf(m.body)
	if format == "" {
		if !slices.Contains(r.result.Notes, noPicture) { // once is enough
			r.result.Notes = append(r.result.Notes, noPicture)
		}
		return nil
	}
	source := m.Source
	if !strings.Contains(" matplotlib pil repr ", " "+source+" ") {
		source = "repr"
	}
	r.result.Images = append(r.result.Images, Image{
		MIMEType: "image/" + format, Width: config.Width, Height: config.Height, Source: source, Data: m.body,
	})
	return nil
}

// pictureOf returns the measures and the format of a PNG or JPEG of reasonable size; the format is "" for
// anything else.
func pictureOf(data []byte) (config image.Config, format string) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || config.Width > imageSide || config.Height > imageSide || config.Width < 1 || config.Height < 1 {
		return image.Config{}, ""
	}
	return config, format
}
