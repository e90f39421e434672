package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxExternalBytes bounds the subject of a person (OpenID Connect Core 1.0, 2).
	maxExternalBytes = 255
	// maxGroups bounds the groups of a person; maxClaimBytes any other claim.
	maxGroups     = 2000
	maxClaimBytes = 1024
)

// A Person is somebody whom the provider has signed in.
type Person struct {
	External string // the subject: the only name that the provider gives to nobody else
	Address  string // of e-mail, if the provider has verified it; "" otherwise
	Name     string // as the person chose it; "" for none
}

// An Admission says who of the people of a provider may enter. Each list that is not empty has to admit a person. When both are empty nobody
// is admitted, unless it is Everybody.
type Admission struct {
	Domains     []string // of verified addresses of e-mail, lower case
	Groups      []string
	GroupsClaim string // what of an ID token has the groups
	Everybody   bool
}

// claims are what the provider says of a person.
type claims map[string]json.RawMessage

// text returns a claim that is text, "" when there is none.
func (c claims) text(name string) (string, error) {
	raw := c[name]
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return "", nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || len(text) > maxClaimBytes || !utf8.ValidString(text) {
		return "", fmt.Errorf("the claim %s is no text of at most %d bytes", name, maxClaimBytes)
	}
	return text, nil
}

// verified reports whether the address is one that the provider has verified. Some write the word as text.
func (c claims) verified() bool {
	raw := string(c["email_verified"])
	return raw == "true" || raw == `"true"`
}

// list returns a claim that is a list of texts, or one.
func (c claims) list(name string) ([]string, error) {
	raw := c[name]
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	var all []string
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("the claim %.100q is no list of texts", name)
	}
	if len(all) > maxGroups {
		return nil, fmt.Errorf("the claim %.100q has %d groups, more than %d: let the provider tell those only that matter here", name, len(all), maxGroups)
	}
	return all, nil
}

func (c claims) person() (p Person, err error) {
	subject, err := c.text("sub")
	if err != nil {
		return p, err
	}
	if subject == "" || len(subject) > maxExternalBytes || strings.ContainsFunc(subject, unicode.IsControl) {
		return p, fmt.Errorf("the subject is not text of 1 to %d bytes", maxExternalBytes)
	}
	address, err := c.text("email")
	if err != nil {
		return p, err
	}
	if !c.verified() {
		address = ""
	}
	name, err := c.text("preferred_username")
	return Person{External: subject, Address: strings.ToLower(address), Name: name}, err
}

// lacks reports whether a claim is missing that decides, or by which a person could be named.
func (a Admission) lacks(c claims) bool {
	_, address := c["email"]
	_, name := c["preferred_username"]
	_, groups := c[a.GroupsClaim]
	return len(a.Domains) > 0 && !address || len(a.Groups) > 0 && !groups || !address && !name
}

// googleIssuer is that of Google, whose people may have addresses of any domain: who has left an organization keeps an account with its
// address. The claim hd is what its administrators answer for.
const googleIssuer = "https://accounts.google.com"

// refuses returns why a person is not admitted, nil for who is.
func (a Admission) refuses(issuer string, c claims, p Person) error {
	if a.Everybody {
		return nil
	}
	if len(a.Domains) == 0 && len(a.Groups) == 0 {
		return errors.New("no list admits anybody")
	}
	if len(a.Domains) > 0 {
		if p.Address == "" {
			return errors.New("there is no verified address of e-mail (the claims email and email_verified)")
		}
		_, domain, _ := strings.Cut(p.Address, "@")
		if issuer == googleIssuer {
			hosted, err := c.text("hd")
			if err != nil {
				return err
			}
			domain = strings.ToLower(hosted)
		}
		if !slices.Contains(a.Domains, domain) {
			return fmt.Errorf("the domain is %.100q", domain)
		}
	}
	if len(a.Groups) == 0 {
		return nil
	}
	if _, there := c[a.GroupsClaim]; !there {
		return fmt.Errorf("there is no claim %.100q with groups", a.GroupsClaim)
	}
	groups, err := c.list(a.GroupsClaim)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(a.Groups, g) }) {
		return fmt.Errorf("the person is in %d groups, and in none of the list", len(groups))
	}
	return nil
}
