package names_test

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/names"
	"runpython/internal/pypi/requirement"
)

// answer is what Distribution returns.
type answer struct {
	Name  string
	Known bool
}

func distribution(importName string) answer {
	name, known := names.Distribution(importName)
	return answer{name, known}
}

func TestDistributionOfAnImport(t *testing.T) {
	want := map[string]string{
		"cv2": "opencv-python-headless", "PIL": "pillow", "PIL.Image": "pillow", "sklearn": "scikit-learn",
		"sklearn.linear_model.LinearRegression": "scikit-learn", "yaml": "pyyaml", "bs4.BeautifulSoup": "beautifulsoup4",
		"dateutil.parser": "python-dateutil", "pptx": "python-pptx", "Crypto.Cipher.AES": "pycryptodome",
		"Cryptodome": "pycryptodomex", "attr": "attrs", "attrs": "attrs", "googleapiclient.discovery": "google-api-python-client",
		"docx": "python-docx", "MySQLdb": "mysqlclient", "psycopg2.extras": "psycopg2-binary", "usb": "pyusb",
		"pkg_resources": "setuptools<82", "psycopg.rows": "psycopg[binary]", "proto": "proto-plus", "mpl_toolkits.mplot3d.Axes3D": "matplotlib", "mpl_toolkits.basemap": "basemap",
		"pylab": "matplotlib", "telegram": "python-telegram-bot", "fpdf": "fpdf2", "zmq": "pyzmq", "umap": "umap-learn",

		// Namespaces that several distributions share.
		"ruamel.yaml": "ruamel-yaml", "google.protobuf.message": "protobuf", "google.cloud.storage": "google-cloud-storage",
		"google.cloud.bigquery.Client": "google-cloud-bigquery", "google.cloud.secretmanager": "google-cloud-secret-manager",
		"google.genai": "google-genai", "google.oauth2.service_account": "google-auth", "azure.storage.blob": "azure-storage-blob",
		"azure.identity": "azure-identity", "azure.ai.ml.MLClient": "azure-ai-ml", "zope.interface": "zope-interface",
		"opentelemetry.trace": "opentelemetry-api", "opentelemetry.sdk.trace": "opentelemetry-sdk",
		"opentelemetry.instrumentation.requests": "opentelemetry-instrumentation-requests",
		"llama_index.core":                       "llama-index-core", "llama_index.vector_stores.chroma": "llama-index-vector-stores-chroma",
		"snowflake.connector": "snowflake-connector-python", "mysql.connector": "mysql-connector-python",
		"airflow.providers.amazon.aws": "apache-airflow-providers-amazon", "airflow.models": "apache-airflow",

		// Names that are their distribution's.
		"numpy": "numpy", "pandas.DataFrame": "pandas", "typing_extensions": "typing-extensions", "lark": "lark",
		"Cython": "cython", "matplotlib.pyplot": "matplotlib", "importlib_metadata": "importlib-metadata",
	}
	for importName, name := range want {
		if got := distribution(importName); got != (answer{name, true}) {
			t.Errorf("Distribution(%q) = %+v, want %q, known", importName, got, name)
		}
	}
}

// The ids name the reported failures that these cases are.
func TestDistributionCases(t *testing.T) {
	for _, test := range []struct {
		name    string
		imports []string
		want    []answer
	}{
		{
			"PKG-04 import names that need a table", []string{"skimage", "Bio", "dotenv", "jwt", "serial", "fitz", "OpenSSL", "magic"},
			[]answer{
				{"scikit-image", true},
				{"biopython", true},
				{"python-dotenv", true},
				{"pyjwt", true},
				{"pyserial", true},
				{"pymupdf", true},
				{"pyopenssl", true},
				{"python-magic", true},
			},
		},
		{"PKG-04 an unknown name is a guess", []string{"no_such_module.part"}, []answer{{"no-such-module", false}}},
		{"PKG-05 dotted imports", []string{"matplotlib.pyplot", "matplotlib.pyplot.plot"}, []answer{{"matplotlib", true}, {"matplotlib", true}}},
		{"PKG-09 an invented name", []string{"pandas_super_utils"}, []answer{{"pandas-super-utils", false}}},
		{
			"names that no distribution can have", []string{"", ".", ".x", "größe", "pаndas", "a b", "x\ny", "\xff", "-r", strings.Repeat("a", 3_000)},
			make([]answer, 10),
		},
		{"a name that ends in the middle of the table's", []string{"google.clou", "PI", "PILx"}, []answer{{}, {"pi", false}, {"pilx", false}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []answer
			for _, name := range test.imports {
				got = append(got, distribution(name))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Distribution of %q (-want +got):\n%s", test.imports, diff)
			}
		})
	}
}

func TestUnavailable(t *testing.T) {
	for importName, part := range map[string]string{
		"win32com.client":  "Windows only",
		"win32api":         "Windows only",
		"urllib2":          "urllib.request",
		"google":           "google.cloud.storage",
		"google.colab":     "Google Colab",
		"imp":              "importlib",
		"cupy":             "NVIDIA",
		"en_core_web_sm":   "spaCy",
		"RPi.GPIO":         "hardware",
		"distutils.core":   "setuptools",
		"azure":            "azure.storage.blob",
		"AppKit":           "macOS only",
		"pyspark.dbutils":  "Databricks",
		"utils.helper":     "a file of one's own",
		"google.nothing.x": "google.cloud.storage",
	} {
		why, ok := names.Unavailable(importName)
		if !ok || !strings.Contains(why, part) {
			t.Errorf("Unavailable(%q) = %q, %v, want a sentence with %q", importName, why, ok, part)
		}
		if got := distribution(importName); got != (answer{}) {
			t.Errorf("Distribution(%q) = %+v, want none", importName, got)
		}
	}
	for _, importName := range []string{"numpy", "PIL", "no_such_module", "google.cloud.storage", ""} {
		if why, ok := names.Unavailable(importName); ok {
			t.Errorf("Unavailable(%q) = %q, want nothing", importName, why)
		}
	}
}

func TestPopular(t *testing.T) {
	for name, want := range map[string]bool{
		"boto3": true, "numpy": true, "scikit-learn": true, lines(t, "popular.txt")[7_999]: true,
		"": false, "num": false, "umpy": false, "numpy\nboto3": false, "scikit_learn": false, "\n": false,
	} {
		if got := names.Popular(name); got != want {
			t.Errorf("Popular(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestLookAlike(t *testing.T) {
	for name, want := range map[string]string{
		"reqeusts": "requests", "requets": "requests", "requestss": "requests", "panda": "pandas", "numppy": "numpy", "djnago": "django",
		"colorma": "colorama", "urlib3": "urllib3", "matplotlip": "matplotlib", "tensorfolw": "tensorflow", "beautifulsuop4": "beautifulsoup4",
		"python-requests": "requests", "requests-python": "requests", "pyrequests": "requests", "scikitlearn": "scikit-learn",
		"dateutil": "python-dateutil", "python-dateutils": "python-dateutil",

		// What is popular itself, too short, or only of the same family.
		"requests": "", "numpy": "", "sklearn": "", "jwt": "", "xz": "", "nump": "", "": "", "azure-mgmt-cdnn": "",
		"types-foobar": "", "opentelemetry-instrumentation-abc": "", "runpython-tests-nothing": "",
		strings.Repeat("requests", 40): "", "\n": "",
	} {
		got, ok := names.LookAlike(name)
		if got != want || ok != (want != "") {
			t.Errorf("LookAlike(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
}

// TestData holds the files to what the code takes for granted.
func TestData(t *testing.T) {
	table := lines(t, "imports.txt")
	if !slices.IsSorted(table) {
		t.Error("imports.txt is not in order")
	}
	mismatches := 0
	for _, line := range table {
		name, value, ok := strings.Cut(line, "\t")
		sentence, isSentence := strings.CutPrefix(value, "!")
		switch {
		case !ok || name == "" || len(name) > 100 || !utf8.ValidString(line):
			t.Errorf("imports.txt: %q", line)
		case isSentence && (len(sentence) < 10 || strings.ContainsAny(sentence, "{}\t")):
			t.Errorf("imports.txt: %q says nothing", line)
		case !isSentence && !isRequirement(value):
			t.Errorf("imports.txt: %q is no requirement in normal form", value)
		case !isSentence && !strings.Contains(name, "."):
			mismatches++
		}
		if got, want := distribution(name), (answer{value, true}); !isSentence && got != want {
			t.Errorf("Distribution(%q) = %+v, want %+v", name, got, want)
		}
	}
	if mismatches < 300 {
		t.Errorf("imports.txt has %d import names that differ from their distribution's, want 300", mismatches)
	}
	most := lines(t, "popular.txt")
	if len(most) != 8_000 || len(slices.Compact(slices.Sorted(slices.Values(most)))) != len(most) {
		t.Errorf("popular.txt has %d names, want 8000 different ones", len(most))
	}
	for _, name := range most {
		if !requirement.IsName(name) || requirement.Normalize(name) != name {
			t.Errorf("popular.txt: %q is no name in normal form", name)
		}
	}
}

// isRequirement reports whether text is a requirement in its normal form.
func isRequirement(text string) bool {
	r, err := requirement.Parse(text)
	return err == nil && r.String() == text
}

// lines returns the lines of a file of the data.
func lines(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("data", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []string
	s := bufio.NewScanner(f)
	for s.Scan() {
		all = append(all, s.Text())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"PIL", "google.cloud.storage.Client", "win32api", "a\tb", "\n", "reqeusts", "größe", "...", "\xff.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, known := names.Distribution(text)
		_, unavailable := names.Unavailable(text)
		if known && (name == "" || unavailable) || name != "" && !isRequirement(name) {
			t.Errorf("Distribution(%q) = %q, %v; unavailable %v", text, name, known, unavailable)
		}
		if meant, ok := names.LookAlike(text); ok && (meant == text || !names.Popular(meant)) {
			t.Errorf("LookAlike(%q) = %q", text, meant)
		}
	})
}

func BenchmarkDistribution(b *testing.B) {
	for b.Loop() {
		names.Distribution("google.cloud.storage.Client")
	}
}

func BenchmarkLookAlike(b *testing.B) {
	for b.Loop() {
		names.LookAlike("nothing-like-another")
	}
}
