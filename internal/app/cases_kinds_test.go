package app_test

import (
	"strings"

	"runpython/internal/chat"
)

// kindScenarios are what people do with the packages that most of them come for.
var kindScenarios = []scenario{
	{"PLT-02: subplots, saved files, closed figures", []step{
		{send: "import matplotlib.pyplot as plt, numpy as np\nfig, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True)\nfor n, ax in enumerate(axes.flat): ax.plot(np.sin(np.arange(50) * n / 9)); ax.set_title(f'no. {n}')\nfig.suptitle('six'); fig.tight_layout()", images: 1},
		{send: "fig = plt.figure(figsize=(4, 3), dpi=100)\nax = fig.add_subplot(projection='3d')\nax.plot_surface(*np.meshgrid(range(9), range(9)), np.ones((9, 9)))\nplt.figure(figsize=(7, 3)); plt.hist([1, 2, 2, 3]); plt.figure(figsize=(11, 3)); plt.imshow(np.eye(5)); plt.colorbar();", images: 3},
		{
			send:   "plt.plot([1, 2], label='α')\nplt.legend()\nfor name in ('a.png', 'a.pdf', 'a.svg', '图 1.jpg'): plt.savefig(name, dpi=50)\nfrom PIL import Image\nprint(Image.open('a.png').size, open('a.pdf', 'rb').read(5), Image.open('图 1.jpg').format)",
			stdout: "(320, 240) b'%PDF-' JPEG\n", images: 1, files: []string{"a.png", "a.pdf", "a.svg", "图 1.jpg"},
			check: func(r *chat.Reply) string {
				var types []string
				for _, f := range r.Files {
					types = append(types, f.MIMEType)
				}
				got := strings.Join(types, " ")
				return unless(got == "image/png application/pdf image/svg+xml image/jpeg", "types %s", got)
			},
		},
		{send: "plt.plot([1]); plt.savefig('closed.png'); plt.close()", files: []string{"closed.png"}},
		{send: "plt.plot([3]); plt.show(); plt.plot([4]); plt.show()", images: 2},
	}},
	{"animations", []step{
		{
			send:   "import matplotlib.pyplot as plt\nfrom matplotlib.animation import FuncAnimation, PillowWriter\nfig, ax = plt.subplots(figsize=(2, 2))\nline, = ax.plot([], [])\nax.set(xlim=(0, 9), ylim=(0, 9))\nanimation = FuncAnimation(fig, lambda n: line.set_data(range(n + 2), range(n + 2)), frames=5)\nanimation.save('a.gif', writer=PillowWriter(fps=5))\nplt.close()\nfrom PIL import Image\nimage = Image.open('a.gif')\nprint(image.n_frames, image.size, image.info['loop'], image.info['duration'])",
			stdout: "5 (200, 200) 0 200\n", files: []string{"a.gif"}, never: []string{"Note: ", "arning"},
			check: func(r *chat.Reply) string {
				return unless(r.Files[0].MIMEType == "image/gif", "type %s", r.Files[0].MIMEType)
			},
		},
		{send: "print('<video' in animation.to_jshtml() or '<img' in animation.to_jshtml())", stdout: "True\n"},
		{send: "frames = [Image.new('RGB', (20, 20), name) for name in ('red', 'green', 'blue')]\nframes[0].save('b.gif', save_all=True, append_images=frames[1:], loop=0)\nImage.open('b.gif').n_frames", value: "3", files: []string{"b.gif"}},
	}},
	{"emoji", []step{
		{send: "import matplotlib.pyplot as plt\nplt.title('smile 😀 笑');", images: 1, never: []string{"Note: ", "Glyph"}},
		{send: "plt.title('party 🎉');", images: 1, text: []string{"Note: some characters of a figure are in none of the fonts and are drawn as boxes"}, never: []string{"Glyph"}},
		{send: "import pandas as pd\npd.DataFrame({'🎉': ['👩‍👩‍👧', '中文']})", value: anything, text: []string{"| 🎉 |", "| 👩‍👩‍👧 |", "| 中文 |"}},
	}},
	{"pandas: types and what is missing", []step{
		{
			send: "import pandas as pd\npd.DataFrame({'n': [1, 2], 'x': [1.5, float('nan')], 's': ['a', None], 'd': pd.to_datetime(['2024-01-31', None]), 'c': pd.Categorical(['u', None]), 'i': pd.array([1, None], dtype='Int64'), 't': pd.to_timedelta(['90s', None]), 'b': [True, False]})",
			text: []string{"Value, 2 rows × 8 columns:", "| 0 | 1 | 1.5 | a | 2024-01-31 | u | 1 | 0 days 00:01:30 | True |", "| 1 | 2 | NaN | NaN | NaT | NaN | \\<NA> | NaT | False |"}, value: anything,
		},
		{send: "pd.DataFrame({'v': [1, 2]}).dtypes", value: anything, text: []string{"| v | int64 |"}},
		{send: "pd.DataFrame({'when': pd.date_range('2024-01-01 10:00', periods=2, freq='h', tz='Europe/Berlin')})", value: anything, text: []string{"| 1 | 2024-01-01 11:00:00+01:00 |"}},
		{send: "pd.DataFrame({'v': [1, 2]}).describe()", value: anything, text: []string{"| mean | 1.5 |"}},
	}},
	{"pandas: wide, long, empty, several levels", []step{
		{send: "import pandas as pd\npd.DataFrame([range(100)] * 100)", value: anything, text: []string{"100 rows × 100 columns", "…"}, check: func(r *chat.Reply) string {
			return unless(len(r.Text) < 12_000, "a preview of %d bytes", len(r.Text))
		}},
		{send: "pd.DataFrame(columns=['a', 'b'])", value: anything, text: []string{"0 rows × 2 columns", "| a | b |"}},
		{send: "pd.DataFrame({'k': ['a', 'a', 'b'], 'n': [1, 2, 3], 'v': [4, 5, 6]}).groupby('k').agg({'n': ['sum', 'max'], 'v': 'mean'})", value: anything, text: []string{"| k | n / sum | n / max | v / mean |", "| a | 3 | 2 | 4.5 |"}},
		{send: "pd.DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)], names=['k', 'n']))", value: anything, text: []string{"| k | n | v |", "| b | 2 | 2 |"}},
		{send: "pd.DataFrame([[1, 2]], columns=['a', 'a'])", value: anything, text: []string{"| a | a |", "| 1 | 2 |"}},
		{send: "pd.Series([1, 2], index=['x', 'y'], name='s')", value: anything, text: []string{"| y | 2 |"}},
	}},
	{"PIL", []step{
		{send: "from PIL import Image, ImageDraw, ImageFont, ImageFilter\nimport numpy as np\nimage = Image.fromarray((np.indices((20, 30)).sum(0) * 5).astype('uint8'))\nImageDraw.Draw(image).text((2, 2), 'añ 中', font=ImageFont.truetype('wqy-microhei.ttc', 12), fill=255)\nimage.filter(ImageFilter.BLUR).resize((60, 40))", images: 1, check: pixels(60, 40)},
		{send: "for n, mode in enumerate(('1', 'L', 'LA', 'P', 'RGB', 'RGBA', 'CMYK', 'YCbCr', 'I', 'F')): display(Image.new(mode, (n + 1, 2)))", images: 10, check: widening},
		{send: "image.save('i.webp'); image.save('i.png'); Image.open('i.webp').format", value: "'WEBP'", files: []string{"i.webp", "i.png"}},
	}},
	{"plotly and altair", []step{
		{send: "import plotly.express as px\npx.line(x=[1, 2], y=[3, 4], title='Größe 中文')", files: []string{"plot-1.html"}, text: []string{"plot-1.html"}, check: isHTML},
		{send: "page = open('plot-1.html').read()\nprint('Größe 中文' in page or r'Gr\\u00f6\\u00dfe' in page, len(page) > 1_000_000)", stdout: "True True\n"},
		{send: "import plotly.graph_objects as go\nfigure = go.Figure(go.Bar(x=['a'], y=[1]))\nfigure.show()", files: []string{"plot-2.html"}},
		{send: "figure.write_html('own.html')", files: []string{"own.html"}},
		{send: "import altair as alt, pandas as pd\nalt.Chart(pd.DataFrame({'a': [1, 2], 'b': [3, 4]})).mark_bar().encode(x='a:O', y='b')", files: []string{"plot-3.html"}, check: isHTML},
		{send: "alt.Chart(pd.DataFrame({'a': [1]})).mark_point().encode(x='a').save('chart.json')", files: []string{"chart.json"}},
	}},
	{"openpyxl and python-docx", []step{
		{
			send:  "import openpyxl, pandas as pd\nbook = openpyxl.Workbook()\nbook.active.append(['名', 'Größe'])\nbook.active.append(['a', 1.5])\nbook.save('Tabelle ü.xlsx')\npd.DataFrame({'x': [1, 2]}).to_excel('frame.xlsx', index=False)\npd.read_excel('Tabelle ü.xlsx').to_dict('list')",
			value: "{'名': ['a'], 'Größe': [1.5]}", files: []string{"Tabelle ü.xlsx", "frame.xlsx"}, check: officeFile("spreadsheetml.sheet"),
		},
		{
			send:  "import docx\nd = docx.Document()\nd.add_heading('报告', 0)\nd.add_paragraph('Text')\nd.add_table(2, 2).cell(0, 0).text = 'c'\nd.save('r.docx')\n[p.text for p in docx.Document('r.docx').paragraphs]",
			value: "['报告', 'Text']", files: []string{"r.docx"}, check: officeFile("wordprocessingml.document"),
		},
	}},
	{"scikit-learn and scipy", []step{
		{send: "from sklearn.datasets import load_iris\nfrom sklearn.linear_model import LogisticRegression\nfrom sklearn.model_selection import cross_val_score\nfrom sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import StandardScaler\nX, y = load_iris(return_X_y=True)\nmodel = make_pipeline(StandardScaler(), LogisticRegression())\nprint(round(cross_val_score(model, X, y).mean(), 1))\nmodel", stdout: "1.0\n", value: anything, check: shortValue},
		// Workers of joblib: they find the packages, and end without a word.
		{send: "print(cross_val_score(model, X, y, n_jobs=2).shape)", stdout: "(5,)\n"},
		{send: "from joblib import Parallel, delayed\ndef double(x): return 2 * x\nParallel(n_jobs=2)(delayed(double)(n) for n in range(4))", value: "[0, 2, 4, 6]"},
		{send: "from scipy import integrate, optimize, stats\nprint(round(integrate.quad(lambda x: x ** 2, 0, 3)[0], 6), round(optimize.brentq(lambda x: x * x - 2, 0, 2), 6), round(stats.norm.cdf(0), 3))", stdout: "9.0 1.414214 0.5\n"},
	}},
	{"sympy, polars, duckdb", []step{
		{send: "import sympy as sp\nx = sp.symbols('x')\nsp.integrate(sp.sin(x) ** 2, x)", value: "x/2 - sin(x)*cos(x)/2"},
		{send: "sp.solve(x ** 2 - 2, x)", value: "[-sqrt(2), sqrt(2)]"},
		{send: "sp.Matrix([[1, 2], [3, 4]]).inv()", value: "Matrix([\n[ -2,    1],\n[3/2, -1/2]])"},
		{send: "import polars as pl\npl.DataFrame({'a': [1, 2], 'b': ['x', None]})", value: anything, text: []string{"│ 2   ┆ null │", "shape: (2, 2)"}},
		{send: "pl.DataFrame({'a': range(10**6)}).lazy().filter(pl.col('a') > 5).select(pl.len()).collect().item()", value: "999994"},
		{send: "import duckdb, pandas as pd\nframe = pd.DataFrame({'v': [1, 2, 3]})\nduckdb.sql('select sum(v) as s from frame')", value: anything, text: []string{"│      6 │"}},
	}},
	{"requests without a network", []step{
		{send: "import requests\nrequests.get('https://example.test/', timeout=30)", failure: []string{"ConnectionError"}, text: []string{noNetwork}},
	}},
	{"PKG-32", []step{
		{send: "import shutil\nprint({p: bool(shutil.which(p)) for p in ('dot-of-nobody', 'pandoc-of-nobody')})", stdout: "{'dot-of-nobody': False, 'pandoc-of-nobody': False}\n"},
		{send: "import graphviz, pathlib\ngraphviz.backend.dot_command.DOT_BINARY = pathlib.Path('dot-of-nobody') # the machine may have Graphviz\ngraphviz.Source('graph { a -- b }').render('g')", failure: []string{"ExecutableNotFound"}, text: []string{"Note: the program dot-of-nobody is not in the sandbox"}, files: []string{"g"}},
		{send: "import subprocess\nsubprocess.run(['program-of-nobody', '-v'])", failure: []string{"FileNotFoundError"}, text: []string{"the program program-of-nobody is not in the sandbox", "packages bring modules of Python"}},
		{send: "import asyncio\nawait asyncio.create_subprocess_exec('program-of-nobody')", failure: []string{"FileNotFoundError"}, text: []string{"the program program-of-nobody is not in the sandbox"}},
		{send: "subprocess.run('program-of-nobody x', shell=True, check=True)", stderr: anything, failure: []string{"127"}, text: []string{"the shell's word for a program that is not in the sandbox"}},
		{send: "import ctypes; ctypes.CDLL('libnobody.so.3')", failure: []string{"libnobody.so.3"}, text: []string{"the library libnobody.so.3 of the system is not in the sandbox"}},
		// What is missing is no program.
		{send: "subprocess.run(['ls'], cwd='no-folder')", failure: []string{"no-folder"}, never: []string{"is not in the sandbox"}},
		{send: "open('no-file')", failure: []string{"no-file"}, never: []string{"is not in the sandbox"}},
	}},
	{"PKG-33", []step{
		{send: "import matplotlib, os, tempfile\nfrom matplotlib import font_manager\nprint(all(os.access(folder, os.W_OK) for folder in (matplotlib.get_cachedir(), tempfile.gettempdir(), os.path.expanduser('~'))))", stdout: "True\n"},
		{send: "import joblib\n@joblib.Memory('/tmp/cache', verbose=0).cache\ndef slow(x): return x + 1\nprint(slow(1), slow(1))", stdout: "2 2\n"},
		{send: "from sklearn.datasets import fetch_california_housing\nfetch_california_housing()", stderr: anything, failure: []string{"URLError"}, text: []string{noNetwork}},
	}},
}

// pixels wants a picture of this size.
func pixels(width, height int) func(*chat.Reply) string {
	return func(r *chat.Reply) string {
		return unless(len(r.Images) == 1 && r.Images[0].Width == width && r.Images[0].Height == height, "%+v", r.Images)
	}
}

func isHTML(r *chat.Reply) string {
	return unless(len(r.Files) == 1 && r.Files[0].MIMEType == "text/html", "%+v", r.Files)
}

// officeFile wants each file to be a document of Office of this kind.
func officeFile(kind string) func(*chat.Reply) string {
	return func(r *chat.Reply) string {
		for _, f := range r.Files {
			if f.MIMEType != "application/vnd.openxmlformats-officedocument."+kind {
				return f.Path + " is " + f.MIMEType
			}
		}
		return ""
	}
}
