package metrics

import (
	"slices"
	"strings"
)

// other stands for a value of a label that is not listed.
const other = "other"

// What labels may say. Words of other packages with spaces in them are written with _.

func faults() []string {
	return []string{"internal", "invalid", "not_found", "busy", "canceled", "unsupported"}
}

func turnOutcomes() []string { return append([]string{"ok", "failed"}, faults()...) }

func runOutcomes() []string {
	return []string{"ok", "error", "exit", "timeout", "memory", "files", "canceled", "crashed"}
}

func checkpointOutcomes() []string { return []string{"ok", "failed"} }

func restoreOutcomes() []string { return []string{"ok", "unusable", "failed"} }

// An install that needed nothing from outside is cached.
func installOutcomes() []string { return append([]string{"cached", "downloaded"}, faults()...) }

// How answers of models end, and why there is none.
func modelOutcomes() []string {
	return []string{
		"end", "called", "length", "refused", "canceled", "unauthorized", "no_model", "invalid", "too_long",
		"no_tools", "oversized", "limited", "overloaded", "unreachable", "cut",
	}
}

func tokenKinds() []string { return []string{"input", "cached", "output", "thinking"} }

func decisions() []string {
	return []string{"allowed", "policy", "address", "server_name", "malformed", "too_many", "unresolved", "unreachable"}
}

func directions() []string { return []string{"out", "in"} }

func limits() []string {
	return []string{"connections", "address_connections", "address_requests", "calls", "runs", "signed_in", "client_registered", "client_fetched"}
}

func authEvents() []string {
	return []string{
		"signed_in", "sign_in_refused", "signed_out", "user_added", "user_removed", "user_disabled", "user_enabled", "password_changed",
		"passkey_added", "passkey_renamed", "passkey_removed", "passkey_copied",
		"user_linked", "user_unlinked", "provider_away", "token_made", "token_issued", "token_refreshed", "token_revoked", "grant_revoked", "grant_replayed",
		"client_registered", "client_removed", "client_allowed", "client_denied",
	}
}

func routes() []string { return []string{"mcp", "oauth", "page", "admin", other} }

func statuses() []string { return []string{"1xx", "2xx", "3xx", "4xx", "5xx", other} }

// listed returns value as a label has it if known lists it, else other.
func listed(known []string, value string) string {
	value = strings.ReplaceAll(value, " ", "_")
	if slices.Contains(known, value) {
		return value
	}
	return other
}
