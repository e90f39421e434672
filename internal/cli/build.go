package cli

import (
	"runpython/internal/config"
	"runpython/internal/fault"
)

// howToBuild is the remedy for a build with cgo, in one sentence.
const howToBuild = "this binary was built with cgo and cannot start sandboxes, since a dynamic program cannot " +
	"start itself again in an empty root: build it with CGO_ENABLED=0, as in " +
	"\"CGO_ENABLED=0 go build ./cmd/runpython\", or point --runsc at an official runsc"

// CheckBuild tells whether this binary can start sandboxes with these settings: it is
// static, or another binary does it. Its error is fault.Unsupported.
func CheckBuild(cfg config.Config) error {
	if withCgo && cfg.Runsc == "" {
		return fault.New(fault.Unsupported, nil, howToBuild)
	}
	return nil
}

// buildCheck is CheckBuild for doctor.
func buildCheck(cfg config.Config) Check {
	switch {
	case !withCgo:
		return Check{Name: "static build", Status: StatusOK, Detail: "built without cgo"}
	case cfg.Runsc != "":
		return Check{Name: "static build", Status: StatusWarn, Detail: "built with cgo; works only with --runsc, as now",
			Remedy: "build with CGO_ENABLED=0 to need no other binary"}
	}
	return Check{Name: "static build", Status: StatusFail, Detail: "built with cgo; sandboxes cannot start", Remedy: howToBuild}
}
