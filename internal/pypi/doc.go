// Package pypi installs Python packages for guests: requirements in, a folder out that
// a guest imports from.
//
// [Installer.Install] reads what is asked for (package requirement), asks the operator's
// rules (policy), lets uv choose the wheels (uv), fetches and unpacks those that no
// environment had before (source, cache, wheel), and links them into the folder
// (environment). What has no wheel is offered to uv by a stand-in (sdist) and built in a guest
// of its own (build). What was resolved, built or unpacked once is so not again.
// No code of a package runs on the host.
//
// # Trust
//
// Requirements, answers of the index, wheels and what uv prints are hostile; each is
// checked by the package that reads it. Settings, the folder of this package and the
// environments are the operator's. Credentials are in nothing that comes out of here.
//
// # Failure
//
// What whoever asked can change, or the operator, is a fault.Error with one line that
// says so. An environment holds whole packages whatever happens, and a cache whole
// wheels; the same Install again goes on where a killed one ended.
package pypi
