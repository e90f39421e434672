package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"runpython/internal/agent"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/llm/vendors"
	"runpython/internal/llm/wire"
)

// newModel returns what an agent needs of the settings and the variables of the process; its Model is nil when
// none is configured and no Ollama answers. It asks no model anything; Ollama is looked for only when nothing is
// configured, for a time that vendors.Find bounds. Its error is for whoever started the program.
func newModel(ctx context.Context, c config.Config, log *slog.Logger, environ []string) (agent.Options, error) {
	client, err := wire.NewClient(c.CABundle)
	if err != nil {
		return agent.Options{}, fault.New(fault.Invalid, nil, "--ca-bundle: "+err.Error())
	}
	choice, err := chosenModel(ctx, c, client, environ)
	if err != nil {
		return agent.Options{}, err
	}
	options := agent.Options{
		Protocol: agent.Protocol(c.ModelProtocol), Extra: c.ModelExtra, Images: c.ModelImages, Facts: factsOf(c),
		MaxRuns: c.MaxRuns, MaxTokens: c.MaxTokens, MaxCost: c.MaxCost,
		Prices: agent.Prices(c.ModelPrices), Timeout: c.TurnTimeout, Log: log,
	}
	if choice == nil {
		log.Info("no model is configured", "see", "--model")
		return options, nil
	}
	options.Model = choice.Open(vendors.Options{HTTP: client, Extra: c.ModelExtra, Images: c.ModelImages, Requests: c.ModelRequests, Log: log})
	options.GoodAtTools, options.Local, options.Window = choice.Tools, choice.Local, choice.Window
	if c.ModelContext > 0 {
		options.Window = c.ModelContext
	}
	log.Info("model", "name", choice.Name(), "host", choice.Host, "protocol", c.ModelProtocol, "key", keyOf(choice), "window", options.Window)
	return options, nil
}

// factsOf are what a model is told of the sandbox.
func factsOf(c config.Config) agent.Facts {
	return agent.Facts{
		RunTimeout: c.RunTimeout, MemoryBytes: c.MemoryBytes, WorkBytes: c.WorkBytes,
		Egress: c.Egress.String(), Packages: c.Packages, Listed: c.AllowPackages,
	}
}

// chosenModel returns the model that is configured, else one of an Ollama that answers, else nil.
func chosenModel(ctx context.Context, c config.Config, client *http.Client, environ []string) (*vendors.Choice, error) {
	lookup := variables(environ)
	choice, err := vendors.Choose(vendors.Settings{Model: c.Model, URL: c.ModelURL, KeyFile: c.ModelKeyFile, Variable: lookup})
	if err != nil {
		return nil, fault.New(fault.Invalid, nil, err.Error())
	}
	if choice == nil && c.Model == "" {
		choice = vendors.Find(ctx, client, lookup)
	}
	if choice != nil && c.MaxCost > 0 && c.ModelPrices == (config.Prices{}) {
		return nil, fault.New(fault.Invalid, nil, "--max-cost needs --model-price, since costs are counted by it")
	}
	return choice, nil
}

// variables returns a lookup in a list of "NAME=value".
func variables(environ []string) func(name string) string {
	return func(name string) string {
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// keyOf tells where the key of a model comes from, never what it is.
func keyOf(c *vendors.Choice) string {
	if c.HasKey {
		return "from " + c.KeyFrom
	}
	return "none"
}

// model tells which model is used, without asking it anything.
func model(ctx context.Context, c config.Config, build Build) Finding {
	f := Finding{Name: "model"}
	client, err := wire.NewClient(c.CABundle)
	if err != nil {
		f.Level, f.Detail, f.Remedy = Less, err.Error(), "name a file of certificates with --ca-bundle, or none"
		return f
	}
	choice, err := chosenModel(ctx, c, client, build.Environ)
	switch {
	case err != nil:
		f.Level, f.Detail, f.Remedy = Broken, err.Error(), "correct the setting, or set --model none"
	case choice == nil:
		f.Detail = "none: only messages that have code are run; see --model"
	default:
		f.Detail = fmt.Sprintf("%s at %s, protocol %s, key %s, not asked", choice.Name(), choice.Host, c.ModelProtocol, keyOf(choice))
		if choice.Found {
			f.Detail += "; found, since nothing is configured"
		}
	}
	return f
}
