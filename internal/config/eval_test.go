package config_test

import (
	"testing"

	"github.com/spf13/pflag"

	"runpython/internal/config"
)

func TestEvalRanges(t *testing.T) {
	for _, c := range []struct {
		flag         string
		right, wrong []string
	}{
		{"only", []string{"csv-*"}, []string{"", "a\x1b[2J"}},
		{"repeat", []string{"1", "100"}, []string{"0", "101", "x"}},
		{"parallel", []string{"1", "16"}, []string{"0", "17"}},
		{"min-pass", []string{"0", "0.7", "1"}, []string{"-0.1", "1.1", "70%", "NaN"}},
		{"one-shot", []string{"true", "false"}, []string{"maybe"}},
		{"prove", []string{"true", "false"}, []string{"maybe"}},
	} {
		for i, value := range append(c.right, c.wrong...) {
			flags := config.NewFlags(config.Default(environ()))
			fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.AddOf("eval", fs)
			if err := fs.Parse([]string{"--" + c.flag + "=" + value}); err != nil {
				t.Fatal(err)
			}
			if _, err := flags.Load(environ()); (err == nil) != (i < len(c.right)) {
				t.Errorf("--%s=%s: %v", c.flag, value, err)
			}
		}
	}
}
