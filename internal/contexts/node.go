package contexts

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"kf/internal/cli"
)

// A reader reads the nodes of a file, whose line is in each error.
type reader struct{ path string }

func (r reader) errorf(n *yaml.Node, format string, a ...any) error {
	return fmt.Errorf("%s: line %d: "+format, append([]any{r.path, n.Line}, a...)...)
}

// parse returns the document that a text is. A text without content is a document
// without any.
func (r reader) parse(text []byte) (*yaml.Node, error) {
	doc := new(yaml.Node)
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors write a byte order mark
	if err := yaml.Unmarshal(text, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", r.path, err)
	}
	return doc, nil
}

// root returns the mapping of a document, nil for one without content.
func (r reader) root(doc *yaml.Node) (*yaml.Node, error) {
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], r.mapping(doc.Content[0])
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// mapping fails for what is no mapping, and for keys that are no texts or come twice.
func (r reader) mapping(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "expected 'key: value'")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Tag == "!!merge":
			return r.errorf(key, "expected a key: anchors, aliases and merges are not read")
		case seen[key.Value]:
			return r.errorf(key, "%s: given twice", key.Value)
		}
		seen[key.Value] = true
	}
	return nil
}

// each calls do for the pairs of a mapping whose keys are among known, unless the
// value is null; other keys are errors.
func (r reader) each(n *yaml.Node, known []string, do func(key string, value *yaml.Node) error) error {
	if isNull(n) {
		return nil
	}
	if err := r.mapping(n); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if known != nil && !slices.Contains(known, key.Value) {
			if near := cli.Nearest(key.Value, known); near != "" {
				return r.errorf(key, "unknown key %q: did you mean %s?", key.Value, near)
			}
			return r.errorf(key, "unknown key %q (there are %s)", key.Value, strings.Join(known, ", "))
		}
		if isNull(value) {
			continue
		}
		if err := do(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

// text returns the text of a scalar, whatever its type is in YAML.
func (r reader) text(key string, n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", r.errorf(n, "%s: expected a single value", key)
	}
	return n.Value, nil
}

func (r reader) boolean(key string, n *yaml.Node) (bool, error) {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Decode(&b) != nil {
		return false, r.errorf(n, "%s: must be true or false", key)
	}
	return b, nil
}

// texts returns a list of texts; a single one is a list too.
func (r reader) texts(key string, n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		text, err := r.text(key, n)
		return []string{text}, err
	}
	var all []string
	for _, item := range n.Content {
		text, err := r.text(key, item)
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, nil
}
