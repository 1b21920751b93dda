package cmd_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kf/cmd"
	"kf/internal/cli"
	"kf/internal/config"
	"kf/internal/kftest"
)

// run runs kf without settings of the user.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	env := &cli.Env{Stdout: &out, Stderr: &said, Environ: []string{"XDG_CONFIG_HOME=" + t.TempDir()}}
	code = cmd.Main(env, args)
	return code, out.String(), said.String()
}

// go test ./cmd -update, or make completions, rewrites the scripts.
func TestCompletionScripts(t *testing.T) {
	for shell, file := range map[string]string{"bash": "kf.bash", "zsh": "kf.zsh", "fish": "kf.fish", "powershell": "kf.ps1"} {
		t.Run(shell, func(t *testing.T) {
			code, script, stderr := run(t, "completion", shell)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			path := filepath.Join("..", "completions", file)
			kftest.Golden(t, path, script)
			if program, err := exec.LookPath(shell); err == nil {
				if out, err := exec.Command(program, "-n", path).CombinedOutput(); err != nil {
					t.Errorf("%s -n: %v\n%s", shell, err, out)
				}
			}
		})
	}
}

// walk calls f for every command.
func walk(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, child := range c.Commands() {
		walk(child, f)
	}
}

func TestEveryCommand(t *testing.T) {
	root := cmd.NewRoot(&cli.Env{})
	walk(root, func(c *cobra.Command) {
		if !c.IsAvailableCommand() || c == root {
			return
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Example, "\n") {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: an example is not indented: %q", c.CommandPath(), line)
			}
		}
		if c.Args == nil && c.Runnable() && !strings.Contains(c.Use, "...") {
			t.Errorf("%s takes any arguments, which its usage does not say", c.CommandPath())
		}
		if c.Run != nil {
			t.Errorf("%s cannot return an error", c.CommandPath())
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--no-such-flag")
		if c.DisableFlagParsing {
			return
		}
		if code, stdout, stderr := run(t, args...); code != cli.ExitUsage || stdout != "" || !strings.HasPrefix(stderr, "kf: error: ") {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	})
}

// Help and README name only flags that there are.
func TestFlagsExist(t *testing.T) {
	root := cmd.NewRoot(&cli.Env{})
	known := map[string]bool{"--help": true, "--version": true}
	texts := map[string]string{}
	walk(root, func(c *cobra.Command) {
		add := func(f *pflag.Flag) { known["--"+f.Name] = true }
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		texts[c.CommandPath()] = c.Long + c.Example
	})
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	texts["README.md"] = string(readme)
	delete(texts, "kf migrate") // it names Kafka's flags too: see TestMigrate
	flag := regexp.MustCompile(`(^|[\s(|"'` + "`" + `])(--[a-z][a-z-]*)`)
	for where, text := range texts {
		for _, match := range flag.FindAllStringSubmatch(text, -1) {
			if !known[match[2]] {
				t.Errorf("%s names %s, which there is not", where, match[2])
			}
		}
	}
}

// What a connection needs means the same everywhere: no command has a flag of its own by
// one of these names or letters.
func TestConnectionFlags(t *testing.T) {
	reserved := map[string]string{"b": "bootstrap-server", "C": "context", "X": "property", "o": "output", "q": "quiet", "y": "yes", "h": "help"}
	found := 0
	walk(cmd.NewRoot(&cli.Env{}), func(c *cobra.Command) {
		parent := c.Parent()
		if c.InheritedFlags().Lookup("bootstrap-server") == nil {
			return
		}
		found++
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if name := reserved[f.Shorthand]; name != "" && f.Name != name {
				t.Errorf("%s: -%s is --%s there, not --%s", c.CommandPath(), f.Shorthand, f.Name, name)
			}
			if parent.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s: --%s is another one there", c.CommandPath(), f.Name)
			}
		})
	})
	if found < 2 {
		t.Errorf("%d commands use a connection", found)
	}
}

func TestTopics(t *testing.T) {
	_, codes, _ := run(t, "help", "exit-codes")
	for _, code := range []string{"0", "1", "2", "3", "4", "130", "141"} {
		if !regexp.MustCompile(`(?m)^ +` + code + `  `).MatchString(codes) {
			t.Errorf("exit code %s is not explained", code)
		}
	}
	_, environment, _ := run(t, "help", "environment")
	for _, key := range config.Keys() {
		if !regexp.MustCompile(`(?m)^  ` + key + ` +` + config.EnvName(key) + ` .*--`).MatchString(environment) {
			t.Errorf("the setting %s is not explained", key)
		}
	}
	for _, topic := range []string{"formats", "exit-codes", "connecting", "environment", "times", "deviations", "migrate"} {
		code, text, stderr := run(t, "help", topic)
		if code != 0 || stderr != "" {
			t.Errorf("help %s: exit code %d, %s", topic, code, stderr)
		}
		for line := range strings.Lines(text) {
			if n := len([]rune(line)); n > 91 {
				t.Errorf("help %s: a line of %d characters: %s", topic, n, line)
			}
		}
		if _, direct, _ := run(t, topic); direct != text {
			t.Errorf("kf %s and kf help %s differ", topic, topic)
		}
	}
}

// What "kf help migrate" says to type are commands that there are, with flags and
// arguments that they take.
func TestMigrate(t *testing.T) {
	_, text, _ := run(t, "help", "migrate")
	call := regexp.MustCompile(`^  (?:.*? {2,})? *kf (.*)$`)
	word := regexp.MustCompile(`'[^']*'|\S+`)
	calls := 0
	for line := range strings.Lines(text) {
		found := call.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if found == nil {
			continue
		}
		calls++
		var args []string
		for _, w := range word.FindAllString(found[1], -1) {
			args = append(args, strings.Trim(w, "'"))
		}
		if args[0] == "-C" { // before the command, as all flags of connections may be
			args = append(args[2:], args[:2]...)
		}
		c, rest, err := cmd.NewRoot(&cli.Env{}).Find(args)
		if err != nil || !c.HasParent() {
			t.Errorf("%s: no such command: %v", found[1], err)
			continue
		}
		if err := c.ParseFlags(rest); err != nil {
			t.Errorf("%s: %v", found[1], err)
			continue
		}
		if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			t.Errorf("%s: %v", found[1], err)
		}
	}
	if calls < 50 {
		t.Errorf("only %d calls were found", calls)
	}
}
