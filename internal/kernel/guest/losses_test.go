package guest_test

import (
	"testing"

	"runpython/internal/extent"
)

// Data that a finalizer could not write is an error of the run, whatever the code does with what Python
// prints about it. /dev/full is a disk without room.
func TestLostDataFailsTheRun(t *testing.T) {
	t.Parallel()
	const lose = "open('/dev/full', 'w').write('k' * 5000)\n"
	play(t, start(t, ""), []step{
		{
			code: lose + "'done'", value: "'done'", exception: "OSError", stderr: []string{"Exception ignored while finalizing file"},
			traceback: []string{"OSError: [Errno 28] No space left on device", "name='/dev/full'", "is lost"},
		},
		{code: "1", value: "1"},
		{code: "import sys, os\nsys.unraisablehook = lambda what: None\n" + lose, value: "5000", exception: "OSError"},
		{code: "sys.unraisablehook = None\n" + lose, value: "5000", exception: "OSError", stderr: []string{"Exception ignored"}},
		{code: "sys.unraisablehook = lambda what: None\n" + lose + "sys.exit()", exception: "OSError"},
		{code: lose + "sys.exit(3)", status: "exit", exit: 3, notes: []string{"[Errno 28] No space left on device"}},
		{code: lose + "1/0", exception: "ZeroDivisionError", notes: []string{"[Errno 28] No space left on device"}},
		{code: "f = open('/dev/full', 'w'); f.write('k')\ntry: f.close()\nexcept OSError: print('seen')\nf = None", stdout: "seen\n"},
		{code: "for i in range(100): " + lose, exception: "OSError"},
		{code: "1", value: "1"},
	})
}

// Only the system's own word for a lack of room counts, not what a class says, and nothing breaks the hook.
func TestOtherIgnoredExceptionsDoNotFailTheRun(t *testing.T) {
	t.Parallel()
	play(t, start(t, ""), []step{
		{code: "import sys\nsys.unraisablehook = lambda what: None\nclass Loud:\n    def __init__(self, error): self.error = error\n    def __del__(self): raise self.error\nLoud(OSError(5, 'I/O error'))\n1", value: "1"},
		{code: "Loud(ValueError(28))\n1", value: "1"},
		{code: "class Lie(OSError): errno = property(lambda self: 28)\nLoud(Lie(5, 'x'))\n1", value: "1"},
		{code: "class Posing(Exception): __class__ = property(lambda self: OSError)\nLoud(Posing(28, 'x'))\n1", value: "1"},
		{code: "class Odd(int): pass\nLoud(OSError(Odd(28), 'x'))\n1", value: "1"},
		{code: "try: sys.audit('sys.unraisablehook', 1, 2)\nexcept AttributeError: print('refused')", stdout: "refused\n"},
		{code: "x = Loud(OSError(27, 'File too large')); del x", exception: "OSError", traceback: []string{"[Errno 27] File too large"}},
	})
}

// FIL-13: a run that leaves too many files is told so itself, however short it was; one that deletes is not.
func TestRunThatLeavesTooManyFilesFails(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	play(t, start(t, ""), []step{
		{
			code: "import os\nfor i in range(10050): open(f'f{i}', 'w').close()\n'made'", value: "'made'", exception: "OSError",
			traceback: []string{"more than 10,000 files in /", "10,050 files and folders are there"},
		},
		{code: "for i in range(10): os.remove(f'f{i}')"},
		{code: "os.mkdir('one more')", exception: "OSError", traceback: []string{"10,041 files and folders are there"}},
		{code: "os.rmdir('one more')\nfor i in range(10, 10050): os.remove(f'f{i}')"},
		{code: "for i in range(10050): os.mkdir(f'd{i}')\nraise SystemExit", exception: "OSError", traceback: []string{"10,050 files"}},
		{code: "for i in range(9990): os.mkdir(f'd{i}/e')", exception: "OSError", traceback: []string{"20,000 or more files"}},
		{code: "open('kept', 'w').close(); 1/0", exception: "ZeroDivisionError"},
	})
}
