package cli

import "runtime/debug"

// A BuildInfo says which kf this is.
type BuildInfo struct {
	Version string // "v1.2.3", "devel" for a build without one
	Commit  string // of the source, "" if unknown
	Dirty   bool   // the source had uncommitted changes
	Go      string // version of the compiler
}

// ReadBuild returns the facts that the linker left in the program. A version
// given at link time wins over the module's.
func ReadBuild(version string) BuildInfo {
	b := BuildInfo{Version: version}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.Go = info.GoVersion
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Dirty = s.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}
