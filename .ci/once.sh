# Sourced by the scripts that install something once for all runs, into a folder of the user's cache.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/runpython-test

# cached NAME FILE... prints the folder of what the files pin, which is another one when they change.
cached() { echo "$cache/$1-$(uname -m)-$(cat "${@:2}" | sha256sum | cut -c1-16)"; }

# once FOLDER COMMAND... fills a folder, unless it is there. The command gets a new folder as one more argument, which
# takes its place when all went well. once ends with the status of the command; a command that fails within
# that command does not end it.
once() (
	[ ! -d "$1" ] || exit 0
	mkdir -p "${1%/*}"
	new=$(mktemp -d "${1%/*}/.new-XXXXXXXX")
	trap 'rm -rf "$new"' EXIT
	"${@:2}" "$new" || exit
	chmod 755 "$new"
	mv -T "$new" "$1" 2>/dev/null || [ -d "$1" ] # another run may have been first
)
