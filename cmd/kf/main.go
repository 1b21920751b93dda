// kf decodes the files of Apache Kafka data directories.
package main

import (
	"os"
	_ "time/tzdata" // times with a zone work where the system has no list of them

	"kf/cmd"
	"kf/internal/cli"
)

// version is set by the linker in releases: -X main.version=v1.2.3.
var version string

func main() { os.Exit(run()) }

func run() int {
	env := cli.New(os.Stdin, os.Stdout, os.Stderr, os.Environ(), cli.ReadBuild(version))
	return cmd.Main(env, os.Args[1:])
}
