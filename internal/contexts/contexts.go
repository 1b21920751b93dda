// Package contexts keeps the clusters that a user works with, each under a name: the
// addresses of its servers, the properties of Java clients that reach it, and where
// to find the secrets among them. The file is YAML of its own:
//
//	current: prod
//	contexts:
//	  prod:
//	    description: the shop
//	    bootstrap_servers: broker1:9092,broker2:9092   # or a list
//	    properties:
//	      security.protocol: SASL_SSL
//	      sasl.mechanism: SCRAM-SHA-512
//	      sasl.username: alice
//	    secrets:
//	      sasl.password: env:PROD_PASSWORD             # or file:PATH
//	      ssl.keystore.password: [pass, show, kafka]   # what a command prints
//	    protected: true
//
// A project may have a file too, .kf.yaml, which is not trusted: see [ReadProject].
package contexts

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A Context is a cluster and how to reach it.
type Context struct {
	Name        string
	Description string
	Bootstrap   string     // bootstrap.servers, never empty in a file
	Properties  []Property // by the names of Java clients, but bootstrap.servers; each once
	Protected   bool       // each change is asked for
	Line        int        // of the file, 0 for one that is in none
}

// A Property is a setting of a Java client, or where to find it.
type Property struct {
	Name  string
	Value string // unless Ref is set
	Ref   *Ref   // nil for a value that is here
	Line  int    // of the file, 0 for one that is in none
}

// Get returns the property of a name.
func (c *Context) Get(name string) (Property, bool) {
	for _, p := range c.Properties {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

// Set sets a property, instead of one of the same name.
func (c *Context) Set(p Property) {
	for i := range c.Properties {
		if c.Properties[i].Name == p.Name {
			c.Properties[i] = p
			return
		}
	}
	c.Properties = append(c.Properties, p)
}

// HoldsSecrets reports whether a secret itself is in the context, and not only the
// place where it is found.
func (c *Context) HoldsSecrets() bool {
	return slices.ContainsFunc(c.Properties, func(p Property) bool { return p.Ref == nil && p.Value != "" && IsSecret(p.Name) })
}

// CheckName reports whether a context can have the name: it is typed on command lines
// and printed.
func CheckName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("the name of a context is empty")
	case strings.HasPrefix(name, "-"):
		return fmt.Errorf("%q is no name of a context: it starts with a hyphen", name)
	case len(name) > 100:
		return fmt.Errorf("the name of a context has %d bytes: 100 are enough", len(name))
	}
	for _, r := range name {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune(`"'\$`+"`", r) {
			return fmt.Errorf("%q is no name of a context: it holds %q", name, r)
		}
	}
	return nil
}

// A File holds the contexts of a user. The methods that change it keep the comments
// of the text.
type File struct {
	Path     string
	Current  string // the context that is used if none is named, "" for none
	Previous string // the one that was current before it
	list     []Context
	doc      *yaml.Node
}

// All returns the contexts in the order of the file.
func (f *File) All() []Context { return f.list }

// Names returns the names of the contexts, sorted.
func (f *File) Names() []string {
	var all []string
	for _, c := range f.list {
		all = append(all, c.Name)
	}
	slices.Sort(all)
	return all
}

// Find returns the context of a name.
func (f *File) Find(name string) (Context, bool) {
	for _, c := range f.list {
		if c.Name == name {
			return c, true
		}
	}
	return Context{}, false
}

// Use makes a context the current one, "" none.
func (f *File) Use(name string) {
	if name == f.Current {
		return
	}
	f.set("previous", f.Current)
	f.set("current", name)
	f.Previous, f.Current = f.Current, name
}

// Put adds a context, or replaces the one of its name.
func (f *File) Put(c Context) {
	contexts := f.section()
	node := encode(c)
	i := slices.IndexFunc(f.list, func(other Context) bool { return other.Name == c.Name })
	if i >= 0 {
		f.list[i] = c
		contexts.Content[2*i+1] = node
		return
	}
	f.list = append(f.list, c)
	contexts.Content = append(contexts.Content, scalar(c.Name), node)
}

// Remove removes the context of a name, if there is one.
func (f *File) Remove(name string) {
	i := slices.IndexFunc(f.list, func(c Context) bool { return c.Name == name })
	if i < 0 {
		return
	}
	contexts := f.section()
	contexts.Content = slices.Delete(contexts.Content, 2*i, 2*i+2)
	f.list = slices.Delete(f.list, i, i+1)
	if f.Current == name {
		f.set("current", "")
		f.Current = ""
	}
	if f.Previous == name {
		f.set("previous", "")
		f.Previous = ""
	}
}

// section returns the mapping of all contexts, which is in the order of list.
func (f *File) section() *yaml.Node {
	root := f.root()
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "contexts" {
			if root.Content[i+1].Kind != yaml.MappingNode { // null
				root.Content[i+1] = &yaml.Node{Kind: yaml.MappingNode}
			}
			root.Content[i+1].Style = 0
			return root.Content[i+1]
		}
	}
	contexts := &yaml.Node{Kind: yaml.MappingNode}
	root.Content = append(root.Content, scalar("contexts"), contexts)
	return contexts
}

// root returns the mapping that the file is.
func (f *File) root() *yaml.Node {
	if len(f.doc.Content) == 0 || f.doc.Content[0].Kind != yaml.MappingNode {
		f.doc.Kind = yaml.DocumentNode
		f.doc.Content = []*yaml.Node{{Kind: yaml.MappingNode}}
	}
	return f.doc.Content[0]
}

// set sets a key of the file itself; without a value it goes away.
func (f *File) set(key, value string) {
	root := f.root()
	for i := 0; i+1 < len(root.Content); i += 2 {
		switch {
		case root.Content[i].Value != key:
		case value == "":
			root.Content = slices.Delete(root.Content, i, i+2)
			return
		default:
			comment := root.Content[i+1].LineComment
			root.Content[i+1] = scalar(value)
			root.Content[i+1].LineComment = comment
			return
		}
	}
	if value == "" {
		return
	}
	at := 0 // in front of the contexts
	if key == "previous" {
		at = min(2, len(root.Content)) // behind current
	}
	root.Content = slices.Insert(root.Content, at, scalar(key), scalar(value))
}

// scalar returns the node of a text, which is quoted where YAML would read another
// thing.
func scalar(text string) *yaml.Node {
	n := new(yaml.Node)
	n.SetString(text)
	return n
}

// encode returns the node of a context.
func encode(c Context) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	add := func(to *yaml.Node, key string, value *yaml.Node) {
		to.Content = append(to.Content, scalar(key), value)
	}
	if c.Description != "" {
		add(node, "description", scalar(c.Description))
	}
	add(node, "bootstrap_servers", scalar(c.Bootstrap))
	properties, secrets := &yaml.Node{Kind: yaml.MappingNode}, &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range c.Properties {
		if p.Ref == nil {
			add(properties, p.Name, scalar(p.Value))
		} else {
			add(secrets, p.Name, p.Ref.encode())
		}
	}
	if len(properties.Content) > 0 {
		add(node, "properties", properties)
	}
	if len(secrets.Content) > 0 {
		add(node, "secrets", secrets)
	}
	if c.Protected {
		add(node, "protected", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
	return node
}
