package check

import (
	"reflect"
	"slices"
	"strings"

	"runpython/internal/check/lint"
	"runpython/internal/excerpt"
)

const (
	maxText     = 2000 // bytes of one text of a report
	leastSecret = 6    // bytes of a credential that is looked for in texts; what is shorter is in words by chance
)

// clean makes every text of the report harmless: no credentials of the scan, no character that is more than
// itself, no endless text. Credentials go first: of one that is cut, a part would be left.
func (r *Report) clean(redact func(string) string) {
	cleanValue(reflect.ValueOf(r).Elem(), func(s string) string {
		return excerpt.Begin(lint.Plain(excerpt.Head(redact(s), 2*maxText)), maxText)
	})
}

// clean makes every text of the observation harmless, as files with them may be shown to anybody.
func (o *Observation) clean(redact func(string) string) {
	cleanValue(reflect.ValueOf(o).Elem(), func(s string) string { return lint.Plain(redact(s)) })
}

// redact returns what takes the credentials of the scan out of a text.
func (o *Options) redact() func(string) string {
	secrets := slices.Clone(o.Secrets)
	for _, values := range o.Headers {
		for _, v := range values {
			secrets = append(append(secrets, v), strings.Fields(v)...)
		}
	}
	return redaction(secrets)
}

// redaction returns what replaces each of the secrets by ***, unless it is so short that it is in words by chance.
func redaction(secrets []string) func(string) string {
	var pairs []string
	secrets = slices.SortedStableFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) }) // of two that begin alike the longer one goes first
	for _, s := range secrets {
		if len(s) >= leastSecret && !strings.EqualFold(s, "bearer") {
			pairs = append(pairs, s, "***")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// Harmless returns what makes texts harmless to show: each of the secrets is replaced by ***, unless it is so short that it is in
// words by chance, and what controls terminals or is not seen is written as its code.
func Harmless(secrets []string) func(string) string {
	redact := redaction(secrets)
	return func(s string) string { return lint.Plain(redact(s)) }
}

// cleanValue replaces every text within v. What v points to is replaced by a copy: others may hold it, as TLS holds the certificates
// that connections share.
func cleanValue(v reflect.Value, clean func(string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(clean(v.String()))
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		copied := reflect.New(v.Type().Elem())
		copied.Elem().Set(v.Elem())
		cleanValue(copied.Elem(), clean)
		v.Set(copied)
	case reflect.Slice:
		if v.IsNil() {
			return
		}
		copied := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(copied, v)
		v.Set(copied)
		for i := range v.Len() {
			cleanValue(v.Index(i), clean)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // a time has fields of its own
				cleanValue(field, clean)
			}
		}
	case reflect.Map: // by texts
		if v.IsNil() {
			return
		}
		cleaned := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(it.Value())
			cleanValue(value, clean)
			cleaned.SetMapIndex(reflect.ValueOf(clean(it.Key().String())), value)
		}
		v.Set(cleaned)
	default:
	}
}
