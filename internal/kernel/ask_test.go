package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

// askedKernel starts a kernel whose questions stay open for so long; 0 means the usual time.
func askedKernel(t *testing.T, limit, open time.Duration) *kernel.Kernel {
	t.Helper()
	s := guesttest.NewSetup(t)
	return s.Begin(t, s.Open(t), kernel.Config{RunTimeout: limit, QuestionTimeout: open})
}

// ask runs code whose questions are answered by answer.
func ask(ctx context.Context, t *testing.T, k *kernel.Kernel, code string, answer func(context.Context, kernel.Question) kernel.Answer) *kernel.Result {
	t.Helper()
	r, err := k.Run(ctx, kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}, Ask: answer})
	if err != nil {
		t.Fatalf("run %.60q: %v", code, err)
	}
	return r
}

// typing answers questions with texts in turn and keeps them.
func typing(questions *[]kernel.Question, texts ...string) func(context.Context, kernel.Question) kernel.Answer {
	return func(_ context.Context, q kernel.Question) kernel.Answer {
		*questions = append(*questions, q)
		if len(*questions) > len(texts) {
			return kernel.Answer{Outcome: kernel.Unasked}
		}
		return kernel.Answer{Outcome: kernel.Typed, Text: texts[len(*questions)-1]}
	}
}

func TestQuestions(t *testing.T) {
	extent.Slow(t)
	k := askedKernel(t, time.Minute, 0)
	var got []kernel.Question
	r := ask(t.Context(), t, k, "print('Guess!')\nwhile (n := int(input('number? '))) != 7:\n    print('wrong', n)\n'won'",
		typing(&got, "3", "7"))
	want := []kernel.Question{{Prompt: "number? ", Output: "Guess!\n"}, {Prompt: "number? ", Output: "wrong 3\n"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Status != kernel.OK || r.Value == nil || r.Value.Text != "'won'" || r.Stdout.Text(1000) != "Guess!\nnumber? 3\nwrong 3\nnumber? 7\n" {
		t.Errorf("status %s, value %+v, error %+v, stdout %q", r.Status, r.Value, r.Error, r.Stdout.Text(1000))
	}
	got = nil
	r = ask(t.Context(), t, k, "for i in range(100_000): print('line', i)\nprint('é' * 3000)\nx = input('žluť? ')\nx, n", typing(&got, "kůň 🐎"))
	if r.Value == nil || r.Value.Text != "('kůň 🐎', 7)" || len(got) != 1 || got[0].Output != strings.Repeat("é", 1023)+"\n" {
		t.Errorf("value %+v, error %+v, questions %.100q", r.Value, r.Error, got)
	}
}

// What becomes of a question, in the words that the code gets.
func TestRefusals(t *testing.T) {
	k := askedKernel(t, time.Minute, 0)
	const code = "try: input()\nexcept EOFError as e: said = str(e)\nsaid"
	for _, test := range []struct {
		answer kernel.Answer
		want   string
	}{
		{kernel.Answer{Outcome: kernel.Declined}, "input() got no answer, the person declined to answer: assign the value in the code instead"},
		{kernel.Answer{Outcome: kernel.Dismissed}, "the person closed the question"},
		{kernel.Answer{Outcome: kernel.Unasked}, "the person could not be asked"},
		{kernel.Answer{}, "the person could not be asked"},
		{kernel.Answer{Outcome: kernel.Typed, Text: strings.Repeat("x", 32<<10+1)}, "it has 32769 bytes, the most is 32768"},
		{kernel.Answer{Outcome: kernel.Typed, Text: strings.Repeat("x\xff", 16<<10)}, "it has 65536 bytes, the most is 32768"},
	} {
		r := ask(t.Context(), t, k, code, func(context.Context, kernel.Question) kernel.Answer { return test.answer })
		if r.Value == nil || !strings.Contains(r.Value.Text, test.want) {
			t.Errorf("%v: %+v, error %+v; want %q", test.answer.Outcome, r.Value, r.Error, test.want)
		}
	}
	if got := evaluate(t, k, "input()"); !strings.Contains(got, "nobody can type while the code runs") {
		t.Errorf("without anybody to ask: %s", got)
	}
	var got []kernel.Question
	r := ask(t.Context(), t, k, "len(input())", typing(&got, strings.Repeat("\xff", 32<<10)))
	if r.Value == nil || r.Value.Text != "1" {
		t.Errorf("text that is no UTF-8: %+v, %+v", r.Value, r.Error)
	}
}

// A run asks as often as it may, and code that forges further questions, or longer ones, gains nothing.
func TestQuestionsAreBounded(t *testing.T) {
	extent.Slow(t)
	k := askedKernel(t, time.Minute, 0)
	asked := 0
	request := kernel.Request{
		Candidates: []kernel.Candidate{{Code: "while True: input()"}}, Questions: 3,
		Ask: func(context.Context, kernel.Question) kernel.Answer {
			asked++
			return kernel.Answer{Outcome: kernel.Typed}
		},
	}
	r, err := k.Run(t.Context(), request)
	if err != nil || r.Error == nil || !strings.Contains(r.Error.Message, "this run has asked 3 times, the most it may") || asked != 3 {
		t.Errorf("asked %d times, %+v, %v; want 3 times", asked, r, err)
	}
	asked = 0
	request.Candidates[0].Code = "import sys\na = sys.stdin._asking\na._most = a._left = 10**9\nfor _ in range(9):\n    try: input()\n    except EOFError as e: last = e\nstr(last)"
	r, err = k.Run(t.Context(), request)
	if err != nil || r.Value == nil || !strings.Contains(r.Value.Text, "it may not ask now") || asked != 3 {
		t.Errorf("forged: asked %d times, %+v, %v; want 3 times", asked, r, err)
	}
	request.Candidates[0].Code = "import sys\na = sys.stdin._asking\na._channel.send({'op': 'ask', 'n': a._run, 'id': 1}, b'x' * 5000)\nimport time; time.sleep(60)"
	if r, err = k.Run(t.Context(), request); err != nil || !r.Lost || asked != 3 {
		t.Errorf("too long: asked %d times, %+v, %v; want the guest lost", asked, r, err)
	}
}

// While a question is open the guest stands still and so does the time limit.
func TestTimeStandsStillWhileAsking(t *testing.T) {
	extent.Long(t)
	const limit = 2 * time.Second
	k := askedKernel(t, limit, 0)
	code := `import threading, time
gap, on = 0.0, True
def watch():
    global gap
    last, more = time.monotonic(), True
    while more:
        more, now = on, time.monotonic()
        gap, last = max(gap, now - last), now
        time.sleep(0.001)
t = threading.Thread(target=watch); t.start()
x = input('? ')
on = False
t.join()
x, gap > 2`
	r := ask(t.Context(), t, k, code, func(context.Context, kernel.Question) kernel.Answer {
		<-time.After(limit + time.Second/2) // longer than the run may last
		return kernel.Answer{Outcome: kernel.Typed, Text: "there"}
	})
	if r.Status != kernel.OK || r.Value == nil || r.Value.Text != "('there', True)" {
		t.Errorf("status %s, value %+v, error %+v; want the answer and a thread that stood still", r.Status, r.Value, r.Error)
	}
	if r.Duration >= limit {
		t.Errorf("the run is said to have lasted %v, with the wait", r.Duration)
	}
	// The limit still holds for what comes after an answer.
	r = ask(t.Context(), t, k, "input()\nwhile True: pass", func(context.Context, kernel.Question) kernel.Answer {
		return kernel.Answer{Outcome: kernel.Typed}
	})
	if r.Status != kernel.TimedOut || r.Reset {
		t.Errorf("status %s, reset %v; want the time limit", r.Status, r.Reset)
	}
}

// A caller that leaves while its code waits stops the run; the variables live on.
func TestCancelWhileAsking(t *testing.T) {
	k := askedKernel(t, time.Minute, 0)
	for name, code := range map[string]string{
		"plain":  "x = 1\ninput('? ')",
		"caught": "x = 1\nwhile True:\n    try: input('? ')\n    except KeyboardInterrupt: break",
		"again":  "x = 1\ntry: input('? ')\nexcept KeyboardInterrupt:\n    try: input('again? ')\n    except EOFError as e: x = 1",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			asked := 0
			r := ask(ctx, t, k, code, func(ctx context.Context, _ kernel.Question) kernel.Answer {
				asked++
				cancel()
				<-ctx.Done()
				return kernel.Answer{Outcome: kernel.Unasked}
			})
			if r.Status != kernel.Canceled || r.Reset || asked != 1 {
				t.Errorf("status %s, reset %v, asked %d times, error %+v; want canceled", r.Status, r.Reset, asked, r.Error)
			}
			if got := evaluate(t, k, "x"); got != "1" {
				t.Errorf("x is %s; want it kept", got)
			}
		})
	}
}

// A question that nobody answers is closed after its time, and the code is told.
func TestNobodyAnswers(t *testing.T) {
	extent.Slow(t)
	k := askedKernel(t, time.Minute, 50*time.Millisecond)
	r := ask(t.Context(), t, k, "x = 2\ninput('? ')", func(ctx context.Context, _ kernel.Question) kernel.Answer {
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("the question ended by %v", ctx.Err())
		}
		return kernel.Answer{Outcome: kernel.Unasked}
	})
	if r.Error == nil || r.Error.Type != "EOFError" || !strings.Contains(r.Error.Message, "nobody answered within 50ms") {
		t.Errorf("status %s, error %+v", r.Status, r.Error)
	}
	if got := evaluate(t, k, "x"); got != "2" {
		t.Errorf("x is %s; want it kept", got)
	}
}

// The questions of a run are open for so long together: what they wait for does not add up.
func TestQuestionsWaitTogether(t *testing.T) {
	extent.Long(t)
	const most, first = 3 * time.Second, time.Second / 2
	k := askedKernel(t, time.Minute, most)
	asked := 0
	r := ask(t.Context(), t, k, "said = []\nfor _ in range(4):\n    try: said.append(input())\n    except EOFError as e: said.append(str(e))\n'|'.join(said)",
		func(ctx context.Context, _ kernel.Question) kernel.Answer {
			end, _ := ctx.Deadline()
			if asked++; asked == 1 {
				<-time.After(first)
				return kernel.Answer{Outcome: kernel.Typed, Text: "there"}
			}
			if rest := time.Until(end); rest > most-first {
				t.Errorf("the second question may wait for %v, after one that took %v of %v", rest, first, most)
			}
			<-ctx.Done()
			return kernel.Answer{Outcome: kernel.Unasked}
		})
	const refused = "this run has waited 3s for answers, the most it may"
	if r.Value == nil || !strings.HasPrefix(r.Value.Text, `"there|`) || strings.Count(r.Value.Text, refused) != 3 || asked != 2 {
		t.Errorf("asked %d times, value %+v, error %+v; want the second and all later ones refused", asked, r.Value, r.Error)
	}
}

// A panic of whoever asks ends the question, not the program, and the run goes on.
func TestAskPanics(t *testing.T) {
	extent.Slow(t)
	k := askedKernel(t, time.Minute, 0)
	r := ask(t.Context(), t, k, "try: input()\nexcept EOFError as e: said = str(e)\nsaid", func(context.Context, kernel.Question) kernel.Answer {
		panic("a bug")
	})
	if r.Value == nil || !strings.Contains(r.Value.Text, "the person could not be asked") {
		t.Errorf("status %s, value %+v, error %+v; want that nobody could be asked", r.Status, r.Value, r.Error)
	}
	var got []kernel.Question
	if r = ask(t.Context(), t, k, "input()", typing(&got, "again")); r.Value == nil || r.Value.Text != "'again'" {
		t.Errorf("the next question: %+v, %+v", r.Value, r.Error)
	}
}

// Closing a kernel ends a question that is open.
func TestCloseWhileAsking(t *testing.T) {
	extent.Slow(t)
	k := askedKernel(t, time.Minute, 0)
	closed := make(chan error, 1)
	r := ask(t.Context(), t, k, "input('? ')", func(ctx context.Context, _ kernel.Question) kernel.Answer {
		go func() { closed <- k.Close() }()
		<-ctx.Done()
		return kernel.Answer{Outcome: kernel.Unasked}
	})
	if !r.Lost {
		t.Errorf("%+v; want the guest lost", r)
	}
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
}
