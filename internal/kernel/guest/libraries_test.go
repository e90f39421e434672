package guest_test

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// startWith starts a kernel that has packages, or skips the test if there are none.
func startWith(t *testing.T, packages ...string) *kernel {
	t.Helper()
	folder := os.Getenv(wheelsVariable)
	if folder == "" {
		t.Skipf("%s is not set: a folder filled by pip install --target FOLDER --python-version 3.14 --only-binary=:all: "+
			"numpy pandas matplotlib pillow plotly altair", wheelsVariable)
	}
	for _, name := range packages {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Skipf("%s has no %s", wheelsVariable, name)
		}
	}
	return start(t, folder)
}

var plotCases = map[string][]step{
	"VAL-05 artists are no value": {
		{code: "import matplotlib.pyplot as plt\nplt.plot([1, 2], [[3, 4], [5, 6]])", images: 1},
		{code: "plt.subplots(2, 2)[1]", images: 1},
		{code: "plt.title('a')", images: 1},
	},
	"PLT-02 several figures": {{code: "import matplotlib.pyplot as plt\nfor i in range(4):\n    plt.figure()\n    plt.title(str(i))\n    plt.plot([i, i + 1])\n    plt.show()", images: 4}},
	"PLT-03 shown twice": {
		{code: "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot([1, 2])\nplt.show()\nfig", images: 1},
		{code: "fig", images: 1},
		{code: "fig.show(); display(fig); fig", images: 1},
		{code: "display(fig); ax.plot([2, 1]); fig", images: 2},
	},
	"PLT-08 backend with a screen": {
		{code: "import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()", images: 1, notes: []string{"TkAgg needs a screen"}},
		{code: "matplotlib.use('qtagg'); plt.get_backend()", value: "'agg'", notes: []string{"qtagg needs a screen"}},
	},
	"PLT-10 import": {{code: "import numpy, matplotlib\nimport matplotlib.pyplot\nprint('ok')", stdout: "ok\n"}},
	"TIM-08 shown before the interrupt": {
		{code: "import matplotlib.pyplot as plt, time"},
		{code: "print('a')\nplt.plot([1, 2])\nplt.show()\nprint('shown')\ntime.sleep(999)", signalAt: "shown", stdout: "a\nshown\n", exception: "KeyboardInterrupt", images: 1},
		{code: "plt.plot([1, 2]); print('on'); time.sleep(999)", signalAt: "on", stdout: "on\n", exception: "KeyboardInterrupt", images: 1},
	},
	"OUT-07 absurd size": {{
		code:   "import matplotlib.pyplot as plt\nplt.figure(figsize=(700, 700), dpi=100)\nplt.plot([1])\nplt.show()",
		images: 1, notes: []string{"a figure of 70,000×70,000 pixels is drawn at 5.71 instead of 100 dots per inch"},
	}},
	"too many": {{
		code:   "import matplotlib.pyplot as plt\nfor i in range(12): plt.figure(); plt.plot([i])",
		images: 10, notes: []string{"2 more pictures were left out"}, stderr: nil,
	}},
	"what cannot be drawn": {
		{code: "import matplotlib.pyplot as plt\nplt.title('$\\\\frac$'); plt.show()", exception: "ValueError"},
		{code: "plt.title('$\\\\frac$');", notes: []string{"open figures could not be shown: ValueError"}},
		{code: "plt.plot([1]); 5", value: "5", images: 1},
		{code: "plt.figure();"},
	},
	"pause leaves figures open": {{code: "import matplotlib.pyplot as plt\nplt.plot([1]); plt.pause(0.01); plt.plot([2]); plt.show(block=False)", images: 1}},
	"ISO-07 patched before a plot": {
		{code: "import matplotlib.pyplot as plt, sys\nplt.plot([1]); plt.show(); plt.show = plt.savefig = None; sys.stdout = None", images: 1},
		{code: "plt.plot([1]);", images: 1},
	},
	"PIL": {
		{code: "from PIL import Image\nim = Image.new('RGB', (30, 20), 'red')\nim", images: 1},
		{code: "im.show()", images: 1},
		{code: "im.show(); im", images: 1},
		{code: "Image.new('CMYK', (3, 2))", images: 1},
		{code: "Image.new('F', (3, 2))", images: 1},
		{code: "Image.new('L', (8000, 4000))", images: 1, notes: []string{"a picture of 8000×4000 pixels is too large and is shown as"}},
		{code: "class P:\n    def _repr_png_(self): return im._repr_png_()\nP()", images: 1},
		{code: "class J:\n    def _repr_jpeg_(self): return im._repr_jpeg_()\nJ()", images: 1},
	},
}

func TestPlots(t *testing.T) {
	t.Parallel()
	for name, steps := range plotCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, startWith(t, "numpy", "matplotlib", "PIL"), steps)
		})
	}
}

// TestPictureBytes has that a picture is one, of the size that is told.
func TestPictureBytes(t *testing.T) {
	t.Parallel()
	k := startWith(t, "PIL", "numpy")
	r := k.exec("import numpy as np\nfrom PIL import Image\nImage.fromarray(np.random.randint(0, 255, (2400, 2400, 3), dtype='uint8'))")
	if len(r.images) != 1 {
		t.Fatalf("%d images, want 1; notes %q", len(r.images), r.done.Notes)
	}
	config, err := png.DecodeConfig(bytes.NewReader(r.pictures[0]))
	if err != nil || config.Width != r.images[0].Width || config.Height != r.images[0].Height || config.Width >= 2400 {
		t.Errorf("picture of %d×%d (%v), told %d×%d, want smaller than 2400", config.Width, config.Height, err, r.images[0].Width, r.images[0].Height)
	}
	if len(r.pictures[0]) > 8<<20 || r.images[0].Source != "pil" || r.images[0].MIME != "image/png" {
		t.Errorf("picture of %d bytes, source %s, type %s", len(r.pictures[0]), r.images[0].Source, r.images[0].MIME)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	k := startWith(t, "pandas", "numpy")
	long := "https://example.test/" + strings.Repeat("x", 120)
	for _, c := range []struct {
		name, code    string
		text          []string // parts of the value
		markdown      string   // the whole, if not ""
		rows, columns int
	}{
		{
			"TAB-02 long cells", "import pandas as pd, numpy as np\npd.DataFrame({'url': ['https://example.test/' + 'x' * 120]})",
			[]string{"0  " + long, "[1 rows x 1 columns]"}, "|  | url |\n| --- | --- |\n| 0 | " + long + " |", 1, 1,
		},
		{"TAB-02 very long cell", "pd.DataFrame({'a': ['z' * 5000]})", []string{"cut at 1,000 characters; the longest shown has 5,000"}, "", 1, 1},
		{"TAB-03 huge", "pd.DataFrame({'a': range(5_000_000)})", []string{"4999999  4999999", "...", "[5000000 rows x 1 columns]"}, "", 5_000_000, 1},
		{"wide", "pd.DataFrame(np.zeros((3, 50)))", []string{"...", "[3 rows x 50 columns]"}, "", 3, 50},
		{
			"cells to escape", "pd.DataFrame({'a': ['x|y', 'l\\nm', None], 'b': [1.5, float('nan'), 1e20]}, index=pd.Index(['p', 'q', 'r'], name='k'))",
			[]string{"x|y  1.500000e+00"},
			"| k | a | b |\n| --- | --- | --- |\n| p | x\\|y | 1.5 |\n| q | l⏎m | NaN |\n| r | NaN | 1e+20 |", 3, 2,
		},
		{
			"series", "pd.Series([1, 2], name='s', index=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)], names=['x', 'y']))",
			[]string{"Name: s, Length: 2, dtype: int64"}, "| x | y | s |\n| --- | --- | --- |\n| a | 1 | 1 |\n| b | 2 | 2 |", 2, 1,
		},
		{
			"dates", "pd.DataFrame({('a', 'b'): pd.to_datetime(['2020-01-01'])})",
			[]string{"2020-01-01"}, "|  | a / b |\n| --- | --- |\n| 0 | 2020-01-01 |", 1, 1,
		},
	} {
		r := k.exec(c.code)
		if r.done.Value == nil || r.done.Table == nil {
			t.Errorf("%s: value %v, table %v, want both; %v", c.name, r.done.Value, r.done.Table, r.done.Error)
			continue
		}
		contains(t, c.name, r.done.Value.Text, c.text)
		if c.markdown != "" {
			if diff := cmp.Diff(c.markdown, r.done.Table.Markdown); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
		if r.done.Table.Rows != c.rows || r.done.Table.Columns != c.columns {
			t.Errorf("%s: %d rows, %d columns, want %d, %d", c.name, r.done.Table.Rows, r.done.Table.Columns, c.rows, c.columns)
		}
	}
	play(t, k, []step{
		{code: "class Bad:\n    def __str__(self): 1/0\n    def __repr__(self): 1/0\npd.DataFrame({'a': [Bad()]}); 5", value: "5"},
		{code: "pd.DataFrame()", value: "Empty DataFrame\nColumns: []\nIndex: []\n\n[0 rows x 0 columns]"},
		{code: "print(len(str(pd.DataFrame({'a': ['z' * 200]})).split()[-1]))", stdout: "200\n"},
		{code: "np.arange(3)", value: "array([0, 1, 2])"},
	})
}

// TestNumpySeed has that numpy's global generator follows the seed of a hello.
func TestNumpySeed(t *testing.T) {
	t.Parallel()
	k := startWith(t, "numpy")
	k.exec("import numpy as np; np.random.seed(1)")
	draw := func(seed string) string {
		k.send(map[string]any{"op": "hello", "seed": seed}, nil)
		if m, _, err := k.receive(); err != nil || m.Op != "hello" {
			t.Fatalf("hello: %+v, %v", m, err)
		}
		return k.exec("np.random.rand()").outcome().Value
	}
	first, second, again := draw(strings.Repeat("01", 64)), draw(strings.Repeat("02", 64)), draw(strings.Repeat("01", 64))
	if first == second || first != again {
		t.Errorf("drawn: %s, %s, %s; want the second to differ and the third to be the first", first, second, again)
	}
}

// TestBrowserPlots has plots that need a browser: files, named in a note.
func TestBrowserPlots(t *testing.T) {
	t.Parallel()
	k := startWith(t, "plotly", "altair", "pandas")
	play(t, k, []step{
		{code: "import plotly.graph_objects as go\nf = go.Figure(go.Bar(y=[1, 2]))\nf", notes: []string{"plot-1.html"}},
		{code: "f.show()", notes: []string{"plot-2.html"}},
		{code: "import altair as alt, pandas as pd\nc = alt.Chart(pd.DataFrame({'a': [1]})).mark_bar().encode(x='a')\nc", notes: []string{"plot-3.html"}},
		{code: "c.show()", notes: []string{"plot-4.html"}},
		{code: "'cdn' not in open('plot-1.html').read(3_000_000)[:2000], len(open('plot-1.html').read()) > 1_000_000", value: "(True, True)"},
	})
}
