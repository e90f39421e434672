// Package llmtest is a language model for tests: an HTTP server that follows a script and speaks the
// protocols of the vendors as they do, whole or as a stream.
//
// It answers POST …/chat/completions as OpenAI does, POST …/messages as Anthropic does, and GET …/models as
// both, whatever stands before these paths. A [Script] says what each request must be and how it is
// answered; scripts are written in Go or, as conversations, in files (see [Parse]). A request that breaks
// the rules of its protocol (a call without its result, no max_tokens) or does not fit the script gets an
// HTTP 400 and fails the test, and so does a script that is not played to its end.
// [Play] tests an implementation of llm.Model with all conversations of its protocol.
//
// # Trust
//
// Tests trust it. What it answers is as hostile as the script makes it.
//
// # Failure
//
// A wrong script ends the test at once; requests that do not fit are errors of the test, with the
// script's name and the number of the exchange.
package llmtest
