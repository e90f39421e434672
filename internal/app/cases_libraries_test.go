package app_test

import (
	"encoding/base64"
	"image"
	_ "image/jpeg" // pictures come as either
	_ "image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/guesttest"
)

// libraryCases are about what libraries show and need. Packages are in the guests
// only because these tests put them there.
func libraryCases(t *testing.T, data string) {
	t.Run("environment", func(t *testing.T) { environment(t, data) })
	wheels := guesttest.Wheels(t)
	a := openAt(t, data, func(_ *config.Config, b *app.Build) { b.Environment = wheels })
	long(t, "OUT-06", func(t *testing.T) { largePlot(t, a) })
	play(t, a, plotScenarios)
	play(t, a, tableScenarios)
	play(t, a, kindScenarios)
	for _, s := range loadScenarios {
		_, folder, _ := strings.Cut(s.name, ": ")
		if _, err := os.Stat(filepath.Join(wheels, folder)); err != nil {
			t.Logf("%s is not among the packages", folder)
			continue
		}
		play(t, a, []scenario{s})
	}
}

// environment wants a folder of packages to be seen by guests, and not to be theirs to change.
func environment(t *testing.T, data string) {
	packages := t.TempDir()
	if err := os.Chmod(packages, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"greeting.py": "WORD = 'hello'\n", "json.py": "raise ImportError('not the library')\n"} {
		if err := os.WriteFile(filepath.Join(packages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	look := "import sys, json\nprint('/opt/env' in sys.path)\nimport greeting\nprint(greeting.WORD)"
	with := openAt(t, data, func(c *config.Config, b *app.Build) { b.Environment, c.Pool = packages, 0 })
	scenario{"", []step{
		{send: look, stdout: "True\nhello\n"},
		{send: "open('/opt/env/x.py', 'w')", failure: []string{"'/opt/env/x.py'"}},
		{send: "import os; os.remove('/opt/env/greeting.py')", failure: []string{"'/opt/env/greeting.py'"}},
	}}.play(t, with)
	without := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool = 0 })
	scenario{"", []step{
		{send: look, stdout: "True\n", failure: []string{"ModuleNotFoundError: No module named 'greeting'"}, text: []string{"installs no packages (--packages off)"}},
	}}.play(t, without)
}

var plotScenarios = []scenario{
	{"PLT-10, VAL-05, PLT-02", []step{
		{send: "import numpy, matplotlib\nimport matplotlib.pyplot\nprint('ok')", stdout: "ok\n"},
		{send: "import matplotlib.pyplot as plt\nplt.plot([1, 2], [[3, 4], [5, 6]])", value: anything, images: 1, check: shortValue},
		{send: "plt.hist([1, 2, 2, 3])", value: anything, images: 1, check: shortValue},
		{send: "fig, axes = plt.subplots(2, 2)\nfor ax in axes.flat: ax.plot([1, 2])\naxes", value: anything, images: 1},
		{send: "plt.title('alone')", value: anything, images: 1, check: shortValue},
		{send: "1 + 1", value: "2"},
		{send: "for i in range(4):\n    plt.figure(figsize=(i + 2, 2))\n    plt.title(str(i))\n    plt.plot([i, i + 1])\n    plt.show()", images: 4, check: widening},
		{send: "for i in range(3):\n    plt.figure(figsize=(i + 2, 2)); plt.plot([1])", images: 3, check: widening},
		{send: "for i in range(12):\n    plt.figure(figsize=(1, 1)); plt.plot([i])", images: 10, text: []string{"2 more pictures were left out"}},
	}},
	{"PLT-03", []step{
		{send: "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()\nfig", images: 1},
		{send: "fig, ax = plt.subplots()\nax.plot([1, 2])\nfig", images: 1},
		{send: "display(fig); plt.show()", images: 1},
		{send: "from PIL import Image\nImage.new('RGB', (30, 20), 'red')", images: 1, check: pixels(30, 20)},
		{send: "i = Image.new('L', (5, 5)); i.show(); i", images: 1},
	}},
	{"Chinese, Japanese, Korean", []step{
		{
			send:   "import matplotlib.pyplot as plt\nplt.title('中文 简体 繁體')\nplt.xlabel('日本語 ラベル')\nplt.plot([1], label='한국어')\nplt.legend();",
			images: 1, never: []string{"Note: ", "Glyph"},
		},
		{send: "plt.title('\\U00012000');", images: 1, text: []string{"drawn as boxes"}},
		{send: "from PIL import ImageFont\nImageFont.truetype('wqy-microhei.ttc', 20).getname()[0]", value: "'WenQuanYi Micro Hei'"},
	}},
	{"PLT-08", []step{
		{send: "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", images: 1, never: []string{"Warning", "non-interactive"}},
		{send: "plt.switch_backend('QtAgg')\nplt.plot([1]); plt.show(block=True)", images: 1, never: []string{"Warning"}},
		{send: "%matplotlib notebook\nplt.ion()\nplt.plot([2])\nplt.pause(0.01);", images: 1, never: []string{"Warning"}},
	}},
	{"TIM-08", []step{
		{send: "import matplotlib.pyplot as plt, time"},
		{send: "print('a')\nplt.plot([1, 2])\nplt.show()\ntime.sleep(999)", timeout: 3 * shortTime, stdout: "a\n", failure: []string{"Stopped after 3 s", variablesKept}, images: 1},
		{send: "plt.plot([1, 2])\nimport itertools, collections\ndisplay(plt.gcf())\ncollections.deque(itertools.repeat(1), maxlen=0)", timeout: 3 * shortTime, failure: []string{"Stopped after 3 s", "variables are lost"}, images: 1},
	}},
	{"MEM-12, OUT-07", []step{
		{send: "import os\nfds = []\ntry:\n    while True: fds.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError as e: print(e.errno)", stdout: "24\n"},
		{send: "for fd in fds: os.close(fd)\nimport matplotlib.pyplot as plt\nplt.plot([1]);", images: 1},
		{send: "kept = 1"},
		{send: "plt.figure(figsize=(700, 700), dpi=100)\nplt.plot([1])\nplt.show()", images: 1, text: []string{"70,000×70,000 pixels", "too large"}},
		{send: "plt.figure(figsize=(1e6, 1e6)); plt.plot([1]);", images: 1, text: []string{"too large"}},
		{send: "from PIL import Image\nImage.new('L', (15_000, 15_000))", images: 1, text: []string{"15000×15000 pixels", "Note: "}},
		{send: "print(kept)", stdout: "1\n"},
		{send: "plt.plot([2]);", images: 1},
	}},
}

func shortValue(r *chat.Reply) string {
	return unless(len(r.Runs[0].Value) < 200, "a value of %d bytes: %.300s", len(r.Runs[0].Value), r.Runs[0].Value)
}

func widening(r *chat.Reply) string {
	for i := 1; i < len(r.Images); i++ {
		if r.Images[i].Width <= r.Images[i-1].Width {
			return "the pictures are out of order"
		}
	}
	return ""
}

// largePlot wants a picture that is too large for a result to come scaled down, with the whole linked.
func largePlot(t *testing.T, a *app.App) {
	url, _ := serve(t, a)
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	result, text, _ := call(t, s, "", "import numpy as np, matplotlib.pyplot as plt\nplt.figure(figsize=(16, 9), dpi=200)\nplt.imshow(np.random.rand(900, 1600))\nplt.show()")
	pictures, linked, size := 0, "", 0
	for _, c := range result.Content {
		switch c := c.(type) {
		case *mcp.ImageContent:
			pictures++
			size += base64.StdEncoding.EncodedLen(len(c.Data))
			if _, format, err := image.Decode(strings.NewReader(string(c.Data))); err != nil || "image/"+format != c.MIMEType {
				t.Errorf("the picture: %s, %v", c.MIMEType, err)
			}
		case *mcp.ResourceLink:
			linked = c.URI
		}
	}
	if result.IsError || pictures != 1 || size > 1<<20 || linked == "" {
		t.Fatalf("%d pictures of %d bytes, linked %q:\n%s", pictures, size, linked, text)
	}
	if _, whole, err := content(t, a, "", linked); err != nil || len(whole) < size {
		t.Errorf("the whole picture: %d bytes, %v", len(whole), err)
	} else if c, _, err := image.DecodeConfig(strings.NewReader(whole)); err != nil || c.Width < 1000 || !strings.Contains(text, "dots per inch") {
		t.Errorf("the whole picture: %d × %d, %v", c.Width, c.Height, err)
	}
}

var tableScenarios = []scenario{
	{"TAB-02", []step{
		{send: "import pandas as pd\nurl = 'https://example.test/' + 'x' * 120\npd.DataFrame({'url': [url]})", value: anything, text: []string{"https://example.test/" + strings.Repeat("x", 120), "| url"}},
		{send: "print(pd.DataFrame({'url': [url]}).to_string())", stdout: anything, text: []string{strings.Repeat("x", 120)}},
		{send: "pd.DataFrame({'t': ['a|b', 'c\\nd', '`e`', None, 'f' * 5000]})", value: anything, text: []string{`a\|b`}, check: func(r *chat.Reply) string {
			return unless(strings.Contains(r.Text, strings.Repeat("f", 5000)) || strings.Contains(r.Text, "5,000") || strings.Contains(r.Text, "5000"), "a long cell is cut without its length")
		}},
		{send: "pd.Series([1.5, 2.5], name='s')", value: anything, text: []string{"1.5", "2.5"}},
		{send: "pd.DataFrame()", value: anything},
		{send: "pd.DataFrame({'a': [1]});"},
	}},
	{"TAB-03", []step{
		{send: "import pandas as pd\npd.DataFrame({'a': range(5_000_000)})", value: anything, text: []string{"5,000,000 rows × 1 column", "4999999"}, check: func(r *chat.Reply) string {
			return unless(len(r.Text) < 8000, "a preview of %d bytes", len(r.Text))
		}},
		{send: "pd.DataFrame([range(3000)] * 3)", value: anything, text: []string{"3 rows × 3,000 columns"}, check: func(r *chat.Reply) string {
			return unless(len(r.Text) < 20_000, "a preview of %d bytes", len(r.Text))
		}},
		{send: "import numpy as np\nnp.arange(10**7)", value: anything, check: shortValue},
	}},
}

// loadScenarios end in the folder of a library. Those that reserve much more memory
// than they use load under the default limits.
var loadScenarios = []scenario{
	{"ISO-10: pandas", []step{
		{send: "import numpy as np, pandas as pd\nprint(np.linalg.solve([[2, 0], [0, 2]], [2, 4]), pd.Series([1, 2]).mean())", stdout: "[1. 2.] 1.5\n"},
		{send: "np.zeros(1 << 42)", failure: []string{"MemoryError"}},
		{send: "np.ones(10**9)", failure: []string{"emory"}},
		{send: "print(np.arange(3))", stdout: "[0 1 2]\n", state: anyState},
	}},
	{"large libraries: duckdb", []step{{send: "import duckdb\nprint(duckdb.sql('select sum(i) from range(1000) t(i)').fetchall())", stdout: "[(499500,)]\n"}}},
	{"large libraries: numba", []step{
		{send: "import numba\n@numba.njit\ndef f(x): return x + 1\nprint(f(1))", stdout: "2\n", check: noNumbaFiles},
		{send: "@numba.njit(parallel=True)\ndef g(n):\n    s = 0\n    for i in numba.prange(n): s += i\n    return s\nprint(g(1000))", stdout: "499500\n"},
	}},
	{"large libraries: cv2", []step{{send: "import cv2, numpy as np\nprint(cv2.resize(np.zeros((100, 100, 3), np.uint8), (10, 20)).shape)", stdout: "(20, 10, 3)\n"}}},
	{"large libraries: sklearn", []step{{send: "from sklearn.linear_model import LinearRegression\nprint(round(float(LinearRegression().fit([[0], [1]], [0, 2]).predict([[2]])[0]), 6))", stdout: "4.0\n"}}},
}

func noNumbaFiles(r *chat.Reply) string {
	return unless(len(r.Files) == 0, "its cache is listed among the files: %v", paths(r))
}
