package config

// evalSettings are those of the command that measures models.
func evalSettings() []setting {
	return []setting{
		entry("only", word("GLOB"), "play the tasks with such a name: csv-*", []string{eval},
			func(c *Config) *string { return &c.Only }),
		entry("repeat", count(1, 100), "how often each task is played", []string{eval},
			func(c *Config) *int { return &c.Repeat }),
		entry("parallel", count(1, 16), "tasks at once", []string{eval},
			func(c *Config) *int { return &c.Parallel }),
		entry("min-pass", fraction(0, 1), "exit with 1 when a smaller part has passed", []string{eval},
			func(c *Config) *float64 { return &c.MinPass }),
		entry("one-shot", boolean(), "ask the model once and run its code once, without the loop", []string{eval},
			func(c *Config) *bool { return &c.OneShot }),
		entry("prove", boolean(), "let each check judge the solutions of its task, without a model", []string{eval},
			func(c *Config) *bool { return &c.Prove }),
	}
}
