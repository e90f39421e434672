package span

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// Settings say where spans go. The zero value is nowhere.
type Settings struct {
	Endpoint string            // URL to which spans are posted, "" for none
	Headers  map[string]string // that go with them; they may be secrets
	Resource map[string]string // what the program is: service.name and others
	Ratio    float64           // the part of the traces of which spans are sent
}

// FromVariables reads the standard variables of OpenTelemetry that mean something here. Nothing is sent unless one of them names
// an endpoint. version is the program's.
func FromVariables(variable func(name string) string, version string) (Settings, error) {
	endpoint, err := endpointOf(variable)
	if err != nil || endpoint == "" {
		return Settings{}, err
	}
	s := Settings{Endpoint: endpoint, Headers: map[string]string{}, Resource: map[string]string{}}
	headers := variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
	if headers == "" {
		headers = variable("OTEL_EXPORTER_OTLP_HEADERS")
	}
	if err := pairs(headers, s.Headers); err != nil {
		return Settings{}, errors.New("OTEL_EXPORTER_OTLP_HEADERS must be a list such as name=value,name=value") // it may have secrets
	}
	if err := pairs(variable("OTEL_RESOURCE_ATTRIBUTES"), s.Resource); err != nil {
		return Settings{}, errors.New("OTEL_RESOURCE_ATTRIBUTES must be a list such as name=value,name=value")
	}
	if name := variable("OTEL_SERVICE_NAME"); name != "" {
		s.Resource["service.name"] = name
	}
	if s.Resource["service.name"] == "" {
		s.Resource["service.name"] = "runpython"
	}
	s.Resource["service.version"] = version
	s.Ratio, err = ratio(variable("OTEL_TRACES_SAMPLER"), variable("OTEL_TRACES_SAMPLER_ARG"))
	return s, err
}

// endpointOf returns where spans are posted, "" if they are not to be.
func endpointOf(variable func(name string) string) (string, error) {
	if strings.EqualFold(variable("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(variable("OTEL_TRACES_EXPORTER"), "none") {
		return "", nil
	}
	endpoint := variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if base := variable("OTEL_EXPORTER_OTLP_ENDPOINT"); endpoint == "" && base != "" {
		endpoint = strings.TrimSuffix(base, "/") + "/v1/traces"
	}
	if endpoint == "" {
		return "", nil
	}
	if u, err := url.Parse(endpoint); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://127.0.0.1:4318")
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := variable(name); strings.HasPrefix(p, "grpc") {
			return "", fmt.Errorf("%s is %q: spans are sent over HTTP only, usually to port 4318", name, p)
		}
	}
	return endpoint, nil
}

// pairs reads a list of names and percent-encoded values.
func pairs(text string, into map[string]string) error {
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || name == "" || strings.ContainsAny(value, "\r\n") {
			return errors.New("no list of names and values")
		}
		into[name] = value
	}
	return nil
}

// ratio is the part of the traces that a sampler takes. Samplers that ask the parent are taken for what they do without one: what
// a client wants recorded is not the operator's affair.
func ratio(sampler, argument string) (float64, error) {
	switch strings.TrimPrefix(sampler, "parentbased_") {
	case "", "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "traceidratio":
		if argument == "" {
			return 1, nil
		}
		if r, err := strconv.ParseFloat(argument, 64); err == nil && r >= 0 && r <= 1 {
			return r, nil
		}
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q: it must be a number from 0 to 1", argument)
	}
	return 0, fmt.Errorf("OTEL_TRACES_SAMPLER is %q: always_on, always_off and traceidratio are known", sampler)
}

// samples reports whether spans of a trace are sent: always the same for all of one trace, also in other programs that go by
// its id.
func (s Settings) samples(traceID string) bool {
	b, err := hex.DecodeString(traceID)
	if err != nil || len(b) < 16 {
		return false
	}
	return float64(binary.BigEndian.Uint64(b[8:])>>1) < s.Ratio*math.MaxInt64 || s.Ratio >= 1
}
