package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

func TestSmoke(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Pool = 2
	h := s.Open(t)
	for round := range 4 {
		time.Sleep(1500 * time.Millisecond)
		t0 := time.Now()
		g, err := h.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t1 := time.Now()
		k, err := kernel.New(t.Context(), g, kernel.Config{RunTimeout: 3 * time.Second, Limits: s.Config.Limits, Log: s.Config.Log}, s.Key)
		if err != nil {
			t.Fatal(err)
		}
		t2 := time.Now()
		one := func(code string) {
			t1 := time.Now()
			r, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}})
			if err != nil {
				fmt.Println("ERR", err)
				return
			}
			v := ""
			if r.Value != nil {
				v = r.Value.Text
			}
			e := ""
			if r.Error != nil {
				e = r.Error.Type + ": " + r.Error.Message
			}
			fmt.Printf("%-.60q %s %v value=%s out=%q err=%q exc=%q files=%.80s reset=%v lost=%v peak=%dM late=%q notes=%q\n", code, r.Status, time.Since(t1).Round(10*time.Microsecond), v, r.Stdout.Text(60), r.Stderr.Text(300), e, fmt.Sprintf("%+v", r.Files), r.Reset, r.Lost, r.PeakBytes>>20, r.Late.Text(100), r.Notes)
		}
		one("1+1")
		t3 := time.Now()
		fmt.Println("round", round, "take", t1.Sub(t0), "new", t2.Sub(t1), "first", t3.Sub(t2), "restored", g.Restored())
		if round == 0 {
			for range 300 {
				k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: "1+1"}}})
			}
			t0 = time.Now()
			for range 2000 {
				k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: "1+1"}}})
			}
			fmt.Println("per call", time.Since(t0)/2000)
			time.Sleep(200 * time.Millisecond)
			one("1+1")
			one("b=[]\nwhile True: b.append(bytearray(10**7))")
			one("len(b)")
			one("import os; print(os.getuid(), os.listdir('/'), os.cpu_count()); open('/work/a.txt','w').write('hi')")
			one("import time; print('step 1', flush=True); time.sleep(999)")
			one("2**20000")
		}
		fmt.Println("idle memory", g.MemoryBytes()>>10)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}
