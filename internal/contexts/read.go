package contexts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FileName is the name of the file of a user, beside that of the settings.
const FileName = "contexts.yaml"

const (
	fileLimit    = 4 << 20  // more than thousands of contexts need
	projectLimit = 64 << 10 // more than anybody writes for a project
)

// bootstrap is the property that has a key of its own.
const bootstrap = "bootstrap.servers"

// Load reads the contexts of a user. A file that is not there has none. One that
// holds secrets must be the user's alone: else Load fails, and says what to type.
func Load(path string) (*File, error) {
	text, info, err := ReadFile(path, fileLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return Parse(path, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("contexts: %w", err)
	}
	f, err := Parse(path, text)
	if err != nil {
		return nil, err
	}
	for _, c := range f.list {
		if c.HoldsSecrets() {
			return f, CheckMode(path, info, 0o077)
		}
	}
	return f, nil
}

// Parse reads the text of a file of contexts.
func Parse(path string, text []byte) (*File, error) {
	r := reader{path}
	doc, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path, doc: doc}
	root, err := r.root(doc)
	if root == nil || err != nil {
		return f, err
	}
	err = r.each(root, []string{"current", "previous", "contexts"}, func(key string, n *yaml.Node) (err error) {
		switch key {
		case "current":
			f.Current, err = r.text(key, n)
		case "previous":
			f.Previous, err = r.text(key, n)
		case "contexts":
			err = r.contexts(f, n)
		}
		return err
	})
	return f, err
}

// contexts reads the mapping of all contexts.
func (r reader) contexts(f *File, n *yaml.Node) error {
	if err := r.mapping(n); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if err := CheckName(key.Value); err != nil {
			return r.errorf(key, "%w", err)
		}
		c, err := r.context(key.Value, key.Line, n.Content[i+1])
		if err != nil {
			return err
		}
		f.list = append(f.list, c)
	}
	return nil
}

// context reads one context.
func (r reader) context(name string, line int, n *yaml.Node) (Context, error) {
	c := Context{Name: name, Line: line}
	known := []string{"description", "bootstrap_servers", "properties", "secrets", "protected"}
	err := r.each(n, known, func(key string, n *yaml.Node) (err error) {
		switch key {
		case "description":
			c.Description, err = r.text(key, n)
		case "bootstrap_servers":
			c.Bootstrap, err = r.servers(key, n)
		case "properties":
			err = r.properties(&c, n)
		case "secrets":
			err = r.secrets(&c, n)
		case "protected":
			c.Protected, err = r.boolean(key, n)
		}
		return err
	})
	if err == nil && c.Bootstrap == "" {
		err = fmt.Errorf("%s: line %d: context %s: no bootstrap_servers", r.path, line, name)
	}
	return c, err
}

// servers reads a list of addresses, or one text with commas.
func (r reader) servers(key string, n *yaml.Node) (string, error) {
	all, err := r.texts(key, n)
	return strings.Join(all, ","), err
}

func (r reader) properties(c *Context, n *yaml.Node) error {
	return r.each(n, nil, func(key string, n *yaml.Node) error {
		if key == bootstrap {
			return r.errorf(n, "%s: belongs in bootstrap_servers", key)
		}
		text, err := r.text(key, n)
		if err != nil {
			return err
		}
		c.Properties = append(c.Properties, Property{Name: key, Value: text, Line: n.Line})
		return nil
	})
}

func (r reader) secrets(c *Context, n *yaml.Node) error {
	return r.each(n, nil, func(key string, n *yaml.Node) error {
		if old, ok := c.Get(key); ok {
			return r.errorf(n, "%s: given in line %d too", key, old.Line)
		}
		ref, err := r.ref(key, n)
		if err != nil {
			return err
		}
		c.Set(Property{Name: key, Ref: ref, Line: n.Line})
		return nil
	})
}

// ref reads where a secret is found: a text, or the words of a command.
func (r reader) ref(key string, n *yaml.Node) (*Ref, error) {
	if n.Kind == yaml.SequenceNode {
		argv, err := r.texts(key, n)
		if err == nil && (len(argv) == 0 || argv[0] == "") {
			err = r.errorf(n, "%s: names no program", key)
		}
		return &Ref{Command: argv}, err
	}
	text, err := r.text(key, n)
	if err != nil {
		return nil, err
	}
	ref, err := ParseRef(text)
	if err != nil {
		return nil, r.errorf(n, "%s: %w; a secret itself goes under properties", key, err)
	}
	return ref, nil
}

// ProjectName is the name of the file of a project.
const ProjectName = ".kf.yaml"

// A Project is what a project says about the cluster to use: the name of a context of
// the user, or a cluster without secrets. One of them is set, or none.
type Project struct {
	Path    string
	Use     string // name of a context
	Line    int    // of that name
	Cluster *Context
}

// FindProject returns the path of the file of the project that a directory is in: in
// it or one above, "" if there is none.
func FindProject(dir string) (string, error) {
	for {
		path := filepath.Join(dir, ProjectName)
		switch _, err := os.Lstat(path); {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", err
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}

// harmless are the properties that a project may set: with none of them can it have a
// file of the user's sent somewhere, or a program run.
var harmless = []string{
	"client.dns.lookup", "client.id", "client.rack",
	"connections.max.idle.ms", "default.api.timeout.ms", "metadata.max.age.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms",
	"request.timeout.ms", "retries", "retry.backoff.max.ms", "retry.backoff.ms", "sasl.mechanism", "security.protocol",
	"socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms",
	"ssl.cipher.suites", "ssl.enabled.protocols", "ssl.endpoint.identification.algorithm", "ssl.protocol",
	"ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.type",
}

// ReadProject reads the file of a project. It may have come with a repository that
// somebody else wrote, and kf reads it because of where it is run: so it must belong to
// the user or root, it cannot have a program run or a secret read, and it holds none.
func ReadProject(path string) (*Project, error) {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // whose is the link, whose the file
		info, err := stat(path)
		switch {
		case err != nil:
			return nil, err
		case info.Mode().Type()&^fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%s is no regular file", path)
		}
		if err := CheckOwner(path, info); err != nil {
			return nil, err
		}
	}
	text, _, err := ReadFile(path, projectLimit)
	if err != nil {
		return nil, err
	}
	return ParseProject(path, text)
}

// ParseProject reads the text of the file of a project.
func ParseProject(path string, text []byte) (*Project, error) {
	r := reader{path}
	doc, err := r.parse(text)
	if err != nil {
		return nil, err
	}
	p := &Project{Path: path}
	root, err := r.root(doc)
	if root == nil || err != nil {
		return p, err
	}
	c := Context{Line: root.Line}
	given := ""
	err = r.each(root, []string{"context", "bootstrap_servers", "properties", "protected"}, func(key string, n *yaml.Node) (err error) {
		if key != "context" {
			given = key
		}
		switch key {
		case "context":
			p.Line = n.Line
			if p.Use, err = r.text(key, n); err == nil {
				err = CheckName(p.Use)
			}
			if err != nil {
				err = r.errorf(n, "%w", err)
			}
		case "bootstrap_servers":
			c.Bootstrap, err = r.servers(key, n)
		case "properties":
			err = r.properties(&c, n)
		case "protected":
			c.Protected, err = r.boolean(key, n)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case p.Use != "" && given != "":
		return nil, fmt.Errorf("%s: names a context and sets %s: one of the two, or a project could change what your context says", path, given)
	case given != "" && c.Bootstrap == "":
		return nil, fmt.Errorf("%s: sets %s for no bootstrap_servers", path, given)
	case given != "":
		p.Cluster = &c
	}
	for _, property := range c.Properties {
		switch {
		case strings.Contains(property.Value, "${"):
			return nil, fmt.Errorf("%s: line %d: %s holds ${, with which config.providers could send what is elsewhere", path, property.Line, property.Name)
		case slices.Contains(harmless, property.Name):
		case IsSecret(property.Name):
			return nil, fmt.Errorf("%s: line %d: %s is a secret, which a project file never holds: put it into a context (kf context add) and name that here", path, property.Line, property.Name)
		default:
			return nil, fmt.Errorf("%s: line %d: %s cannot be set by a project file: put it into a context (kf context add) and name that here", path, property.Line, property.Name)
		}
	}
	return p, nil
}
