package config

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"runpython/internal/pattern"
)

// The values of Config.Packages.
const (
	PackagesAuto   = "auto"   // what code imports and what messages ask for
	PackagesListed = "listed" // only what is in Config.AllowPackages, and what that needs
	PackagesOff    = "off"    // nothing
)

// packageSettings are those about packages from an index.
func packageSettings() []setting {
	return []setting{
		entry("packages", choice(PackagesAuto, PackagesListed, PackagesOff), "which PyPI packages code may have", nil,
			func(c *Config) *string { return &c.Packages }),
		entry("index-url", indexURL(), "package index, in place of that of uv's and pip's variables, else PyPI", nil,
			func(c *Config) *Secret { return &c.IndexURL }),
		repeated("extra-index-url", indexURL(), "package index that is asked before it; may be repeated", nil,
			func(c *Config) *[]Secret { return &c.ExtraIndexURLs }),
		repeated("find-links", word("DIR"), "folder of wheels, or URL of a page that links to some; may be repeated", nil,
			func(c *Config) *[]string { return &c.FindLinks }),
		entry("no-index", boolean(), "ask no index, only --find-links", nil,
			func(c *Config) *bool { return &c.NoIndex }),
		entry("ca-bundle", file(), "PEM file of the certificates that package indexes are trusted by", nil,
			func(c *Config) *string { return &c.CABundle }),
		repeated("allow-package", packageName(), "package of --packages listed, never warned about; may be repeated", nil,
			func(c *Config) *[]string { return &c.AllowPackages }),
		repeated("deny-package", packageName(), "package that is never installed, whatever needs it; may be repeated", nil,
			func(c *Config) *[]string { return &c.DenyPackages }),
		entry("preload", requirements(), "packages that new chats have imported already", nil,
			func(c *Config) *[]string { return &c.Preload }),
		entry("source-builds", boolean(), "build packages that have no wheel, each in a sandbox of its own without network", nil,
			func(c *Config) *bool { return &c.SourceBuilds }),
		entry("exclude-newer", duration(0, 10*365*24*time.Hour), "install only what was uploaded so long ago", nil,
			func(c *Config) *time.Duration { return &c.ExcludeNewer }),
		entry("install-timeout", duration(time.Second, time.Hour), "longest time of one install", nil,
			func(c *Config) *time.Duration { return &c.InstallTimeout }),
		entry("package-size", size(1<<20, 1<<40), "size of one wheel", nil,
			func(c *Config) *int64 { return &c.PackageBytes }),
		entry("environment-size", size(1<<20, 1<<40), "size of the packages of one chat", nil,
			func(c *Config) *int64 { return &c.EnvironmentBytes }),
		entry("package-cache", size(64<<20, 1<<50), "size of the cache of packages; what chats use stays beyond it", nil,
			func(c *Config) *int64 { return &c.PackageCacheBytes }),
		entry("uv", executable(), "uv to use, in place of the one on PATH, else one that is fetched once from the index", nil,
			func(c *Config) *string { return &c.UV }),
	}
}

// indexName is a name before the URL of an index, as uv has it: "corp=https://…".
var indexName = pattern.New(`^[A-Za-z0-9_.-]+=`)

// indexURL is the address of a package index. It may have a password in it.
func indexURL() kind[Secret] {
	text := word("URL")
	return kind[Secret]{
		arg: "URL", yaml: text.yaml, secret: true,
		parse: func(value string) (Secret, error) {
			if _, err := text.parse(value); err != nil {
				return Secret{}, err
			}
			u, err := url.Parse(indexName().ReplaceAllString(value, ""))
			if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
				return Secret{}, refusal("must be a URL such as https://pypi.example.org/simple, with https or http")
			}
			return NewSecret(value), nil
		},
		format: Secret.String,
	}
}

// packageName is the name of a distribution (PEP 508), without a version.
func packageName() kind[string] {
	name := regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
	return kind[string]{
		arg: "NAME", yaml: []string{tagString},
		parse: func(text string) (string, error) {
			if !name.MatchString(text) {
				return "", refusal("must be the name of a package without a version, such as pandas")
			}
			return text, nil
		},
		format: asIs,
	}
}

// file is the path of a file that can be read, made absolute.
func file() kind[string] {
	k := word("FILE").then(func(path string) (string, error) {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			return "", refusal("must be a file that exists")
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", refusal("must be an absolute path, since the working directory is gone")
		}
		return abs, nil
	})
	return optional(k)
}
