package config

import (
	"errors"
	"strings"

	"runpython/internal/egress"
)

// egressPolicy is where code may connect; its sentence of what is wrong comes from package egress.
func egressPolicy() kind[egress.Policy] {
	return kind[egress.Policy]{
		arg: "LIST", limits: "none, or names and addresses as in api.example.com:443,*.example.org,10.0.0.5:8080",
		yaml: []string{tagString},
		parse: func(text string) (egress.Policy, error) {
			p, err := egress.ParsePolicy(text)
			if err != nil {
				return egress.Policy{}, refusal("%s", withoutPrefix(err))
			}
			return p, nil
		},
		format: egress.Policy.String,
	}
}

// withoutPrefix leaves out what the refusal of a setting says anyway: its name.
func withoutPrefix(err error) string {
	if cause := errors.Unwrap(err); cause != nil {
		if entry, _, found := strings.Cut(strings.TrimPrefix(err.Error(), "egress "), ": "); found {
			return entry + ": " + cause.Error()
		}
	}
	return err.Error()
}
