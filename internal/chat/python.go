package chat

import (
	"fmt"

	"runpython/internal/fault"
	"runpython/internal/pypi/requirement"
)

// checkPython compares the Python that a script's header asks for with the one that is there. A script for
// another one is not run, as PEP 723 advises; its error says so.
func (x *execution) checkPython() error {
	asked, there := x.message.RequiresPython, x.service.options.Python
	if asked == "" || there == "" {
		return nil
	}
	fits, err := requirement.Admits(asked, there)
	switch {
	case err != nil:
		_, shown := fault.Shown(err)
		x.message.Notes = append(x.message.Notes, "requires-python of the script header was ignored: "+shown)
	case !fits:
		return &refusedError{fmt.Sprintf("the script header asks for Python %s, and this server has %s. If the code runs on it, change requires-python in the header", asked, there)}
	}
	return nil
}
