// Package realmodel has the tests of the whole program with real language models, small ones that
// .ci/model serves: what people ask in plain language goes in over MCP, and what the code printed that a
// model wrote for it comes out. It has no other code.
//
// # Trust
//
// The models are trusted with nothing: they are small enough to do everything wrong that a model can.
//
// # Failure
//
// Without the models the tests skip. They never depend on the words of a model, only on what its code printed
// and on what the program makes of it.
package realmodel
