package checkpoint

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
)

// A difference is a sequence of records for each file of the image, in the order of the manifest. A record
// is a kind and numbers, all of them unsigned varints:
//
//	zero     COUNT              as many zero bytes
//	copied   FILE PLACE COUNT   as many bytes of the base's file number FILE from PLACE on
//	literal  COUNT              as many bytes, which follow
//	end                         of the file
//
// Blocks are looked for in the base at any place: gVisor puts pages where there is room, so the same page has
// another place in each image. 4 KiB is the size of a page; with 16 KiB a difference was four times as large.
const (
	recordEnd = iota
	recordZero
	recordCopied
	recordLiteral
)

const (
	blockBytes   = 4 << 10
	literalBytes = 1 << 20 // most that a record carries
	// indexedBlocks bounds the memory for looking up the blocks of a base: 4 GiB of it are indexed.
	indexedBlocks = 1 << 20
)

// A base is the image from which another differs. Close it.
type base struct {
	files []*os.File
	sizes []int64
}

// openBase opens the files of an image; an empty dir is an empty base.
func openBase(dir string) (*base, error) {
	b := &base{}
	if dir == "" {
		return b, nil
	}
	var err error
	if b.files, err = OpenImage(dir); err != nil {
		return nil, err
	}
	for _, f := range b.files {
		info, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		b.sizes = append(b.sizes, info.Size())
	}
	return b, nil
}

func (b *base) close() error { return closeFiles(b.files) }

// describe returns the files for a manifest.
func (b *base) describe() []file {
	var files []file
	for i, size := range b.sizes {
		files = append(files, file{Name: Files()[i], Bytes: size})
	}
	return files
}

// place is where a block of a base is.
type place struct {
	file int
	at   int64
}

// index finds blocks in a base.
type index struct {
	base   *base
	seed   maphash.Seed
	places map[uint64]place
	block  [blockBytes]byte
}

// newIndex reads the base once.
func newIndex(b *base) (*index, error) {
	x := &index{base: b, seed: maphash.MakeSeed(), places: make(map[uint64]place)}
	buffer := make([]byte, literalBytes)
	for number, f := range b.files {
		for at := int64(0); len(x.places) < indexedBlocks; {
			n, err := io.ReadFull(io.NewSectionReader(f, at, literalBytes), buffer)
			for i := 0; i+blockBytes <= n; i += blockBytes {
				sum := maphash.Bytes(x.seed, buffer[i:i+blockBytes])
				if _, there := x.places[sum]; !there {
					x.places[sum] = place{number, at + int64(i)}
				}
			}
			at += int64(n)
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read the base of a checkpoint: %w", err)
			}
		}
	}
	return x, nil
}

// find returns where a block is in the base: at the place expected, if it is there, else anywhere.
func (x *index) find(block []byte, expected place) (place, bool) {
	if len(block) != blockBytes {
		return place{}, false
	}
	if x.matches(block, expected) {
		return expected, true
	}
	found, ok := x.places[maphash.Bytes(x.seed, block)]
	return found, ok && x.matches(block, found)
}

func (x *index) matches(block []byte, p place) bool {
	if p.file >= len(x.base.files) || p.at+blockBytes > x.base.sizes[p.file] {
		return false
	}
	n, err := x.base.files[p.file].ReadAt(x.block[:], p.at)
	return n == blockBytes && (err == nil || errors.Is(err, io.EOF)) && bytes.Equal(x.block[:], block)
}

// encoder writes the records of one file after the other.
type encoder struct {
	to    *bufio.Writer
	index *index

	kind    uint64
	from    place // of recordCopied
	count   int64
	literal []byte
}

func newEncoder(to io.Writer, x *index) *encoder {
	return &encoder{to: bufio.NewWriterSize(to, 64<<10), index: x, literal: make([]byte, 0, literalBytes)}
}

// add adds blocks of a file; only its last one may be short.
func (e *encoder) add(data []byte) error {
	for len(data) > 0 {
		block := data[:min(blockBytes, len(data))]
		data = data[len(block):]
		if err := e.addBlock(block); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) addBlock(block []byte) error {
	var zeros [blockBytes]byte
	expected := place{e.from.file, e.from.at + e.count}
	if e.kind != recordCopied {
		expected.at = 1 << 62 // nowhere
	}
	found, isKnown := place{}, false
	isZero := bytes.Equal(block, zeros[:len(block)])
	if !isZero {
		found, isKnown = e.index.find(block, expected)
	}
	switch {
	case isZero:
		return e.extend(recordZero, place{}, block)
	case isKnown && e.kind == recordCopied && found == expected:
		e.count += int64(len(block))
		return nil
	case isKnown:
		return e.extend(recordCopied, found, block)
	default:
		return e.extend(recordLiteral, place{}, block)
	}
}

// extend makes the record under way longer, or begins another.
func (e *encoder) extend(kind uint64, from place, block []byte) error {
	full := kind == recordLiteral && len(e.literal)+len(block) > literalBytes
	if e.kind != kind || kind == recordCopied || full {
		if err := e.flush(); err != nil {
			return err
		}
		e.kind, e.from = kind, from
	}
	e.count += int64(len(block))
	if kind == recordLiteral {
		e.literal = append(e.literal, block...)
	}
	return nil
}

// flush writes the record under way.
func (e *encoder) flush() error {
	if e.count == 0 {
		return nil
	}
	numbers := []uint64{e.kind, uint64(e.count)}
	if e.kind == recordCopied {
		numbers = []uint64{e.kind, uint64(e.from.file), uint64(e.from.at), uint64(e.count)}
	}
	err := e.write(numbers...)
	if err == nil {
		_, err = e.to.Write(e.literal)
	}
	e.kind, e.count, e.literal = recordEnd, 0, e.literal[:0]
	return err //nolint:wrapcheck // by Write
}

// end ends a file.
func (e *encoder) end() error {
	err := e.flush()
	if err == nil {
		err = e.write(recordEnd)
	}
	return err
}

func (e *encoder) write(numbers ...uint64) error {
	var text []byte
	for _, n := range numbers {
		text = binary.AppendUvarint(text, n)
	}
	_, err := e.to.Write(text)
	return err //nolint:wrapcheck // by Write
}

// errRecords says that a difference is none.
var errRecords = errors.New("records that make no sense")

// decoder reads them again.
type decoder struct {
	from   *bufio.Reader
	base   *base
	buffer []byte
}

func newDecoder(from io.Reader, b *base) *decoder {
	return &decoder{from: bufio.NewReaderSize(from, 64<<10), base: b, buffer: make([]byte, literalBytes)}
}

// decode writes one file, most bytes of it at most.
func (d *decoder) decode(to io.Writer, most int64) error {
	for {
		kind, err := binary.ReadUvarint(d.from)
		if err != nil || kind == recordEnd {
			return err //nolint:wrapcheck // by Unpack
		}
		var from place
		if kind == recordCopied {
			if from, err = d.place(); err != nil {
				return err
			}
		}
		count, err := binary.ReadUvarint(d.from)
		if err != nil {
			return err //nolint:wrapcheck // by Unpack
		}
		if count > uint64(most) {
			return errRecords
		}
		source, err := d.source(kind, from, int64(count))
		if err != nil {
			return err
		}
		n, err := io.CopyBuffer(writerOnly{to}, io.LimitReader(source, int64(count)), d.buffer)
		if err != nil {
			return err //nolint:wrapcheck // by Unpack
		}
		if uint64(n) != count {
			return io.ErrUnexpectedEOF
		}
		most -= n
	}
}

// source returns what a record's bytes are read from.
func (d *decoder) source(kind uint64, from place, count int64) (io.Reader, error) {
	switch {
	case kind == recordZero:
		return zeroReader{}, nil
	case kind == recordLiteral && count <= literalBytes:
		return d.from, nil
	case kind == recordCopied && count <= d.base.sizes[from.file]-from.at:
		return io.NewSectionReader(d.base.files[from.file], from.at, count), nil
	default:
		return nil, errRecords
	}
}

// place reads a place that is in the base.
func (d *decoder) place() (place, error) {
	number, err := binary.ReadUvarint(d.from)
	if err != nil {
		return place{}, err //nolint:wrapcheck // by Unpack
	}
	at, err := binary.ReadUvarint(d.from)
	if err != nil {
		return place{}, err //nolint:wrapcheck // by Unpack
	}
	if number >= uint64(len(d.base.sizes)) || at > uint64(d.base.sizes[number]) {
		return place{}, errRecords
	}
	return place{int(number), int64(at)}, nil
}

// writerOnly keeps io.CopyBuffer to its buffer.
type writerOnly struct{ io.Writer }

type zeroReader struct{}

// Read gives zero bytes.
func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
