package config

import "net/url"

// databaseURL names a database. Its password, if it has one, is never shown.
func databaseURL() kind[Secret] {
	text := word("URL")
	return kind[Secret]{
		arg: "URL", yaml: text.yaml, secret: true,
		parse: func(value string) (Secret, error) {
			if _, err := text.parse(value); err != nil {
				return Secret{}, err
			}
			u, err := url.Parse(value)
			if value != DatabaseSQLite && (err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql") {
				return Secret{}, refusal("must be sqlite, or a URL such as postgres://user@host/database")
			}
			return NewSecret(value), nil
		},
		format: func(s Secret) string {
			if s.Reveal() == DatabaseSQLite { // the default, which is no secret
				return DatabaseSQLite
			}
			return s.String()
		},
	}
}
