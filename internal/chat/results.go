package chat

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"runpython/internal/kernel"
	"runpython/internal/store"
)

// keepResults keeps the pictures in full, and output that the text will not show in full.
func (x *execution) keepResults(ctx context.Context) error {
	r := x.result
	for i, picture := range r.Images {
		name := fmt.Sprintf("figure-%d.%s", i+1, strings.TrimPrefix(picture.MIMEType, "image/"))
		f, err := x.keepResult(ctx, name, picture.MIMEType, picture.Data)
		if err != nil {
			return err
		}
		x.reply.Images = append(x.reply.Images, Image{
			Name: name, MIMEType: picture.MIMEType, Data: picture.Data, Width: picture.Width, Height: picture.Height, URI: f.URI,
		})
	}
	x.printed = map[string]int64{"stdout.txt": r.Stdout.Len(), "stderr.txt": r.Stderr.Len()}
	for _, stream := range []struct {
		name string
		out  kernel.Output
	}{{"stdout.txt", r.Stdout}, {"stderr.txt", r.Stderr}} {
		if stream.out.Len() <= shownStream {
			continue
		}
		f, err := x.keepResult(ctx, stream.name, "text/plain", []byte(stream.out.Text(2*keptStream)))
		if err != nil {
			return err
		}
		x.reply.Files = append(x.reply.Files, f)
	}
	return nil
}

const (
	// keptStream is what the kernel keeps of a stream at the most.
	keptStream = 1 << 20
	// keptResults and keptResultBytes bound the results of a chat; the oldest make room.
	// Those of one run are less than that.
	keptResults     = 200
	keptResultBytes = 256 << 20
)

func (x *execution) keepResult(ctx context.Context, name, media string, data []byte) (File, error) {
	hash, size, err := x.service.options.Content.Put(bytes.NewReader(data))
	if err != nil {
		return File{}, ofDisk(err)
	}
	record := store.File{Path: name, Hash: hash, Size: size, MIMEType: media}
	most := store.Bounds{Count: keptResults, Bytes: keptResultBytes}
	err = x.service.refer(ctx, []store.File{record}, func() ([]string, error) {
		return x.service.options.Store.SaveResult(ctx, x.chat.lease, x.chat.runs, record, most)
	})
	if err != nil {
		return File{}, fmt.Errorf("keep a result: %w", ofDisk(err))
	}
	return File{Path: name, URI: resultURI(x.chat.id, x.chat.runs, name), MIMEType: media, Size: size, Result: true}, nil
}
