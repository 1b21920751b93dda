package dump

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// logSuffixes are those of the files that "kf dump-log" prints.
var logSuffixes = []string{"log", "index", "timeindex", "snapshot", "txnindex", "checkpoint"}

// completeLogFiles completes one file that "kf dump-log" prints; shells offer
// directories too.
func completeLogFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return logSuffixes, cobra.ShellCompDirectiveFilterFileExt
}

// completeLogFileList completes the last file of a list with commas. Shells know
// only whole words, so behind the first comma the candidates are looked up here.
func completeLogFileList(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	comma := strings.LastIndexByte(typed, ',')
	if comma < 0 {
		return completeLogFiles(cmd, args, typed)
	}
	before, last := typed[:comma+1], typed[comma+1:]
	dir, name := filepath.Split(last)
	entries, _ := os.ReadDir(filepath.Clean(dir)) // "" is "."; what cannot be read has no candidates
	var found []string
	for _, e := range entries {
		suffix := strings.TrimPrefix(filepath.Ext(e.Name()), ".")
		switch {
		case !strings.HasPrefix(e.Name(), name):
		case e.IsDir():
			found = append(found, before+dir+e.Name()+string(filepath.Separator))
		case slices.Contains(logSuffixes, suffix):
			found = append(found, before+dir+e.Name())
		}
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
