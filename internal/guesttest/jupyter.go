package guesttest

import (
	"os"
	"os/exec"
	"testing"
)

// JupyterVariable names a folder into which the packages of .ci/jupyter.txt were installed.
const JupyterVariable = "RUNPYTHON_TEST_JUPYTER"

// Jupyter runs a program of Python that imports those packages, on the machine's Python; warnings are errors. Without
// them it skips the test. What the program prints, if it fails, fails the test.
func Jupyter(t testing.TB, program string, args ...string) {
	t.Helper()
	folder := os.Getenv(JupyterVariable)
	if folder == "" {
		t.Skipf("there is no Jupyter to try notebooks with: export %s=$(.ci/jupyter)", JupyterVariable)
	}
	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"-W", "error", "-c", program}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+folder, "IPYTHONDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Jupyter: %v\n%s", err, out)
	}
}
