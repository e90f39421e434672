// Package servertest starts the servers of others that tests talk to. Only tests import it.
//
// # Trust
//
// Tests trust it.
//
// # Failure
//
// A server that does not start or does not answer ends the test, with what it has said.
package servertest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Start starts a server, which is killed when the test ends, and returns when something answers at a URL of it, after ten
// seconds of tries at most. What it prints is shown when the test fails, under its name.
func Start(t testing.TB, name string, cmd *exec.Cmd, client *http.Client, url string) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // it was killed
		if t.Failed() {
			t.Logf("%s said:\n%s", name, said.String())
		}
	})
	t.Cleanup(client.CloseIdleConnections)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if answer, err := client.Get(url); err == nil {
			_ = answer.Body.Close()
			return
		}
		<-tick.C
	}
	t.Fatalf("%s does not answer", name)
}

// FreePort returns a port of 127.0.0.1 that nobody listens on. It is below those that the kernel gives to who asks for
// any port, so that nobody gets it by chance before the caller listens.
func FreePort(t testing.TB) int {
	t.Helper()
	const lowest, beyond = 10000, 32768 // where Linux begins, by its ip_local_port_range
	for range 100 {
		port := lowest + rand.IntN(beyond-lowest)
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		return port
	}
	t.Fatal("no port is free")
	return 0
}
