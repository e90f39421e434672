package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"runpython/internal/config"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	secret := config.NewSecret("hunter2")
	holder := struct{ Key config.Secret }{secret}
	asJSON, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", secret, "holder", holder)
	for _, text := range []string{
		fmt.Sprint(secret), fmt.Sprintf("%v %+v %#v %s %q %x %d", secret, secret, secret, secret, secret, secret, secret),
		fmt.Sprintf("%v %+v %#v", holder, holder, &holder), string(asJSON), string(asYAML), log.String(),
	} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e") || !strings.Contains(text, "***") {
			t.Errorf("printed %q; want *** in place of the secret", text)
		}
	}
	if got := secret.Reveal(); got != "hunter2" {
		t.Errorf("Reveal() = %q, want the text", got)
	}
	if got := (config.Secret{}).String(); got != "" {
		t.Errorf("the empty secret prints %q", got)
	}
}
