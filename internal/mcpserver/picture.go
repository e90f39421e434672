package mcpserver

import (
	"bytes"
	"context"
	"image"
	"image/color"
	stddraw "image/draw"
	"image/jpeg"
	"image/png"
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/image/draw"

	"runpython/internal/chat"
)

const (
	maxDecoding = 2        // pictures that are decoded at the same time
	maxPixels   = 16 << 20 // of a picture that is shown; decoded, it takes 64 MiB
	maxSide     = 8000     // models' interfaces refuse pictures that are longer
	minSide     = 64       // below that a picture shows nothing

	imageOverhead = 96 // what a picture takes as JSON beside its data
)

// images returns the pictures of a reply, reduced so that together they take at
// most room bytes of JSON. One that cannot be reduced, or is no picture at all, is
// left out and counted in unseen: its original is linked, and a client that passed
// it on would make the conversation unusable, since models' interfaces refuse it
// again and again.
func (s *Server) images(ctx context.Context, pictures []chat.Image, room int) (content []mcp.Content, unseen int) {
	for i, p := range pictures {
		share := room
		if remainingSize(pictures[i:]) > room {
			share = room / (len(pictures) - i)
		}
		data, mimeType := s.fitted(ctx, p.Data, decodedLen(share-imageOverhead))
		if data == nil {
			unseen++
			continue
		}
		room -= imageSize(data)
		content = append(content, &mcp.ImageContent{Data: data, MIMEType: mimeType})
	}
	return content, unseen
}

func remainingSize(pictures []chat.Image) int {
	n := 0
	for _, p := range pictures {
		n += imageSize(p.Data)
	}
	return n
}

// imageSize is what a picture takes as JSON.
func imageSize(data []byte) int { return imageOverhead + (len(data)+2)/3*4 }

// decodedLen is how many bytes base64 carries in n.
func decodedLen(n int) int { return max(n, 0) / 4 * 3 }

// fitted returns a PNG or JPEG of at most limit bytes and its type, or nil. It
// decodes the whole picture, since only that shows that a client can.
func (s *Server) fitted(ctx context.Context, data []byte, limit int) (picture []byte, mimeType string) {
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || (format != "png" && format != "jpeg") ||
		config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return nil, ""
	}
	select {
	case s.pictures <- struct{}{}:
		defer func() { <-s.pictures }()
	case <-ctx.Done():
		return nil, ""
	}
	decoded, _, err := image.Decode(bytes.NewReader(data))
	switch {
	case err != nil:
		return nil, ""
	case len(data) > limit:
		return reduce(decoded, limit, asJPEG)
	case max(config.Width, config.Height) > maxSide: // it may become shorter without loss
		return reduce(decoded, limit, asPNG, asJPEG)
	}
	return data, "image/" + format
}

// An encoder returns a picture in its format and the format's type, or nil.
type encoder func(image.Image) (data []byte, mimeType string)

// reduce encodes a picture in at most limit bytes, smaller than it was if need be,
// by the first encoder that manages, or returns nil.
func reduce(src image.Image, limit int, encoders ...encoder) (data []byte, mimeType string) {
	const attempts = 8
	bounds := src.Bounds()
	scale := min(1, float64(maxSide)/float64(max(bounds.Dx(), bounds.Dy())))
	for range attempts {
		width, height := scaled(bounds.Dx(), scale), scaled(bounds.Dy(), scale)
		if max(width, height) < minSide {
			break
		}
		canvas, size := onWhite(src, width, height), 1
		for _, encode := range encoders {
			encoded, mimeType := encode(canvas)
			if encoded != nil && len(encoded) <= limit {
				return encoded, mimeType
			}
			size = max(1, len(encoded))
		}
		scale *= max(0.3, min(0.8, math.Sqrt(float64(limit)/float64(size))))
	}
	return nil, ""
}

func scaled(n int, by float64) int { return max(1, int(math.Round(float64(n)*by))) }

// onWhite draws a picture, scaled, on a white ground, which JPEG needs and plots
// with a transparent one are meant for.
func onWhite(src image.Image, width, height int) *image.RGBA {
	canvas := image.NewRGBA(image.Rect(0, 0, width, height))
	stddraw.Draw(canvas, canvas.Bounds(), image.NewUniform(color.White), image.Point{}, stddraw.Src)
	if src.Bounds().Dx() == width && src.Bounds().Dy() == height {
		stddraw.Draw(canvas, canvas.Bounds(), src, src.Bounds().Min, stddraw.Over)
	} else {
		draw.BiLinear.Scale(canvas, canvas.Bounds(), src, src.Bounds(), draw.Over, nil)
	}
	return canvas
}

func asPNG(m image.Image) (data []byte, mimeType string) {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, ""
	}
	return b.Bytes(), "image/png"
}

func asJPEG(m image.Image) (data []byte, mimeType string) {
	const quality = 85
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		return nil, ""
	}
	return b.Bytes(), "image/jpeg"
}
