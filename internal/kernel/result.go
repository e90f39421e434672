package kernel

import "time"

// Status is how a run ended.
type Status string

// The ways in which a run can end.
const (
	OK       Status = "ok"       // the code ran to its end
	Failed   Status = "error"    // an exception that nobody caught, or code that does not compile
	Exited   Status = "exit"     // sys.exit
	NotCode  Status = "not_code" // no candidate was code; nothing ran
	TimedOut Status = "timeout"  // stopped at the time limit
	Memory   Status = "memory"   // stopped at the memory limit
	Files    Status = "files"    // ended because of too many files in /work
	Canceled Status = "canceled" // stopped because the caller wanted it
	Crashed  Status = "crashed"  // the interpreter ended by itself
)

// ChannelLost is the ExitCode of a Crashed interpreter whose code has closed its channel to the host (guest/PROTOCOL.md).
const ChannelLost = 71

// A Result is what came of one run. Its text is valid UTF-8.
type Result struct {
	Status   Status
	Chosen   int // index of the candidate that ran
	Stdout   Output
	Stderr   Output
	Late     Output // printed between the runs, or by threads of earlier runs
	Value    *Value // of the last expression, nil for none
	Table    *Table // the value as a table, when it is one
	Error    *Exception
	ExitCode int    // for Exited and for a Crashed interpreter that exited
	Signal   string // for Crashed: "SIGSEGV"
	ExitText string // of sys.exit("text")
	Images   []Image
	Files    *FileReport // nil when nothing in /work changed
	Notes    []string    // sentences for the person
	Duration time.Duration
	// PeakBytes is the most memory that was seen, looked at every 25 ms and at the end.
	PeakBytes int64
	// Reset says that the variables are lost: the next run begins with a new interpreter.
	Reset bool
	// Renewed says that the interpreter had ended before this run, which began in a
	// new one without the variables.
	Renewed bool
	// Lost says that the guest is lost, with what this run wrote to /work.
	Lost bool
}

// A Value is the value of the last expression as text.
type Value struct {
	Text    string // some 64 KiB at most
	Type    string // name of its class
	Omitted int64  // bytes left out of the middle
}

// A Table is a data frame.
type Table struct {
	Markdown string // some 64 KiB at most; as the guest sent it: only its cells may be shown, escaped
	Rows     int64
	Columns  int64
}

// An Exception is what nobody caught.
type Exception struct {
	Type      string
	Message   string
	Traceback string // the user's lines only, some 64 KiB at most
}

// An Image is a picture that the code has shown; its size and format are checked.
type Image struct {
	MIMEType string // image/png or image/jpeg
	Width    int
	Height   int
	Source   string // matplotlib, pil or repr
	Data     []byte // at most imageBytes
}

// A FileReport tells what changed in /work.
type FileReport struct {
	Changed []FileEntry
	Deleted []string // paths
	Total   int      // entries in /work
	Over    bool     // there are more than the limit; not all were looked at
	Full    bool     // Changed names everything that is there
}

// A FileEntry is one thing in /work that is no folder.
type FileEntry struct {
	Path  string // bytes of any kind, relative, checked: no empty part, no "." or ".."
	Size  int64
	Kind  string // file, link, fifo, socket or device
	Stamp string // changes when the file changes
}

// Bounds of what a guest may send for one run. More than that ends the guest.
const (
	streamBytes   = 1 << 20  // kept of each stream; the middle is left out
	valueBytes    = 64 << 10 // text of a value, a traceback, a table
	imageBytes    = 8 << 20  // one picture
	imagesPerRun  = 10
	picturesBytes = 32 << 20 // all pictures of a run
	imageSide     = 20_000   // pixels
	notesPerRun   = 20
	noteBytes     = 500
	pathBytes     = 4096
	lateBytes     = 16 << 10
)
