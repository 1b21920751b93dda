// man writes the manual pages of kf into a folder: go run ./cmd/man DIR. The
// pages depend on the commands only, so that two runs write the same bytes.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"kf/cmd"
	"kf/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: man DIR")
		os.Exit(cli.ExitUsage)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(cli.ExitFailed)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return page(cmd.NewRoot(&cli.Env{}), dir)
}

// page writes the page of c and of all commands below it.
func page(c *cobra.Command, dir string) error {
	c.DisableAutoGenTag = true // it holds the date
	var text bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Section: "1", Source: "kf", Manual: "kf manual"}, &text); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), undated(text.Bytes()), 0o644); err != nil {
		return err
	}
	for _, child := range c.Commands() {
		if child.IsAvailableCommand() {
			if err := page(child, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// undated empties the date, the third argument of the title line:
//
//	.TH "KF" "1" "Jan 2026" "kf" "kf manual"
func undated(text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for i, line := range lines {
		if bytes.HasPrefix(line, []byte(".TH ")) {
			fields := bytes.Split(line, []byte(`"`))
			fields[5] = nil
			lines[i] = bytes.Join(fields, []byte(`"`))
		}
	}
	return bytes.Join(lines, nil)
}
