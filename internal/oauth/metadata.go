package oauth

import "net/http"

// wellKnown is where RFC 8615 puts metadata.
const wellKnown = "/.well-known/"

// metadataPaths are where clients look for metadata: at the root, with the path of the endpoint inserted behind the name (RFC
// 8414, 3.1; RFC 9728, 3.1), and, some of them, behind the endpoint. All have the same content.
func metadataPaths(names ...string) []string {
	var all []string
	for _, n := range names {
		all = append(all, wellKnown+n, wellKnown+n+"/mcp", wellKnown+n+"/mcp/", "/mcp"+wellKnown+n)
	}
	return all
}

// ResourceMetadataPath is where the metadata of the endpoint is (RFC 9728, 3.1).
const ResourceMetadataPath = wellKnown + "oauth-protected-resource/mcp"

// serverMetadata tells clients what they may ask for (RFC 8414, 2).
type serverMetadata struct {
	Issuer                 string   `json:"issuer"`
	Authorize              string   `json:"authorization_endpoint"`
	Token                  string   `json:"token_endpoint"`
	Register               string   `json:"registration_endpoint,omitempty"`
	Revoke                 string   `json:"revocation_endpoint"`
	Scopes                 []string `json:"scopes_supported"`
	ResponseTypes          []string `json:"response_types_supported"`
	ResponseModes          []string `json:"response_modes_supported"`
	GrantTypes             []string `json:"grant_types_supported"`
	AuthMethods            []string `json:"token_endpoint_auth_methods_supported"`
	SigningAlgorithms      []string `json:"token_endpoint_auth_signing_alg_values_supported"`
	RevokeAuthMethods      []string `json:"revocation_endpoint_auth_methods_supported"`
	RevokeAlgorithms       []string `json:"revocation_endpoint_auth_signing_alg_values_supported"`
	ChallengeMethods       []string `json:"code_challenge_methods_supported"`
	IssuerInResponses      bool     `json:"authorization_response_iss_parameter_supported"`
	ClientIDIsMetadataURLs bool     `json:"client_id_metadata_document_supported"`
}

func (s *Server) serverMetadata() any {
	m := serverMetadata{
		Issuer: s.Issuer, Authorize: s.Issuer + AuthorizePath, Token: s.Issuer + tokenPath, Revoke: s.Issuer + revokePath,
		Scopes: []string{ScopeRun, ScopeAdmin, scopeOffline}, ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		GrantTypes: []string{grantCode, grantRefresh}, AuthMethods: authMethods(), SigningAlgorithms: algorithmNames(),
		RevokeAuthMethods: authMethods(), RevokeAlgorithms: algorithmNames(), ChallengeMethods: []string{challengeS256}, IssuerInResponses: true,
		ClientIDIsMetadataURLs: s.Registration != RegistrationManual,
	}
	if s.Registration == RegistrationOpen {
		m.Register = s.Issuer + registerPath
	}
	return m
}

// resourceMetadata tells clients where they get tokens for the endpoint (RFC 9728, 2).
type resourceMetadata struct {
	Resource      string   `json:"resource"`
	Servers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported"`
	BearerMethods []string `json:"bearer_methods_supported"`
	Name          string   `json:"resource_name"`
}

func (s *Server) resourceMetadata() any {
	return resourceMetadata{
		Resource: s.Resource, Servers: []string{s.Issuer}, Scopes: []string{ScopeRun}, BearerMethods: []string{"header"}, Name: "Run Python",
	}
}

// document serves metadata, which does not change while the program runs.
func (s *Server) document(content any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=300")
		reply(w, http.StatusOK, content)
	}
}
