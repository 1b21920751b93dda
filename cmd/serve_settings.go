package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"kf/internal/broker"
	"kf/internal/cli"
	"kf/internal/controller"
	"kf/internal/format/metaprops"
	"kf/internal/image"
	"kf/internal/kafkaconf"
	"kf/internal/storage/disk"
)

// broker returns what the flags, -c and --properties ask for. It writes nothing.
func (opts *serveOptions) broker(env *cli.Env) (broker.Options, error) {
	o := broker.Options{NodeID: -1, Release: opts.Release, Sync: opts.Sync}
	if opts.Release != "" && !slices.Contains(image.Releases(), opts.Release) {
		return o, fmt.Errorf("--kafka-version: %q is not one of %s", opts.Release, strings.Join(image.Releases(), ", "))
	}
	settings, err := opts.settings(env)
	if err != nil {
		return o, err
	}
	o.Properties = settings
	for _, key := range []string{"node.id", "broker.id"} {
		if text, ok := settings[key]; ok {
			id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
			if err != nil || id < 0 {
				return o, fmt.Errorf("%s: %q is no node id: a number from 0 on", key, text)
			}
			o.NodeID = int32(id)
			break
		}
	}
	if roles := kafkaconf.Split(settings["process.roles"]); len(roles) > 0 && !slices.Contains(roles, "broker") {
		return o, fmt.Errorf("process.roles: %s: kf serve is a broker with its controller, not a controller alone", settings["process.roles"])
	}
	switch dirs := kafkaconf.Split(cmp.Or(settings["log.dirs"], settings["log.dir"])); {
	case opts.DataDir != "":
		o.Dirs = []string{opts.DataDir}
	case len(dirs) > 0:
		o.Dirs = dirs
	}
	if dir := settings["metadata.log.dir"]; dir != "" && opts.DataDir == "" {
		o.MetadataDir = dir
	}
	if o.Listeners, err = opts.listeners(settings); err != nil {
		return o, err
	}
	for _, text := range opts.Topics {
		t, err := parseTopic(text)
		if err != nil {
			return o, err
		}
		if slices.ContainsFunc(o.Topics, func(other broker.NewTopic) bool { return other.Name == t.Name }) {
			return o, fmt.Errorf("--topic %s: the topic is named twice", text)
		}
		o.Topics = append(o.Topics, t)
	}
	return o, nil
}

// parseTopic reads name[:partitions].
func parseTopic(text string) (broker.NewTopic, error) {
	name, count, given := strings.Cut(text, ":")
	t := broker.NewTopic{Name: name, Partitions: -1}
	if given {
		n, err := strconv.ParseInt(count, 10, 32)
		if err != nil || n < 1 {
			return t, fmt.Errorf("--topic %s: %q is no number of partitions: 1 or more", text, count)
		}
		t.Partitions = int32(n)
	}
	if wrong := controller.CheckTopicName(name); wrong != "" {
		return t, fmt.Errorf("--topic %s: %s", text, wrong)
	}
	return t, nil
}

// settings returns the broker settings of --properties and -c, which are valid.
// Names that kf does not support are left out with a warning.
func (opts *serveOptions) settings(env *cli.Env) (map[string]string, error) {
	all := make(map[string]string)
	if opts.Properties != "" {
		text, err := disk.ReadFile(disk.OS, opts.Properties, 16<<20)
		if err != nil {
			return nil, fmt.Errorf("--properties: %w", err)
		}
		pairs, err := metaprops.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", opts.Properties, err)
		}
		var unsupported, foreign []string
		for _, p := range pairs {
			key, ok := kafkaconf.BrokerKey(p.Key)
			switch {
			case ok:
			case kafkaconf.UnsupportedBrokerKey(p.Key):
				unsupported = append(unsupported, p.Key)
				continue
			default:
				foreign = append(foreign, p.Key)
				continue
			}
			if err := key.Validate(p.Value); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", opts.Properties, p.Line, err)
			}
			all[p.Key] = p.Value
		}
		// One line each: a server.properties of Kafka has a dozen of them.
		if len(unsupported) > 0 {
			env.Warnf("%s: not supported by kf serve, without effect: %s", opts.Properties, names(unsupported))
		}
		if len(foreign) > 0 {
			env.Warnf("%s: no settings of a Kafka broker, without effect: %s", opts.Properties, names(foreign))
		}
	}
	for _, entry := range opts.Settings {
		name, value, ok := strings.Cut(entry, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, fmt.Errorf("-c %s: want key=value", entry)
		}
		key, known := kafkaconf.BrokerKey(name)
		switch {
		case known:
		case kafkaconf.UnsupportedBrokerKey(name):
			env.Warnf("-c %s: not supported by kf serve, without effect", name)
			continue
		default:
			return nil, unknownKey(name)
		}
		if err := key.Validate(value); err != nil {
			return nil, fmt.Errorf("-c %s: %w", name, err)
		}
		all[name] = value
	}
	if err := (&kafkaconf.Settings{File: all}).CheckBroker(); err != nil {
		return nil, err
	}
	return all, nil
}

// names returns a sorted list of names.
func names(all []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(all))), ", ")
}

// unknownKey is the error for a key that no Kafka broker has.
func unknownKey(name string) error {
	var names []string
	for _, k := range kafkaconf.BrokerKeys() {
		names = append(names, k.Name)
	}
	if k, ok := kafkaconf.TopicKey(name); ok && len(k.Synonyms) > 0 {
		return fmt.Errorf("-c %s: that is a setting of topics; the broker's default for them is %s", name, k.Synonyms[0].Name)
	}
	if near := cli.Nearest(name, names); near != "" {
		return fmt.Errorf("-c %s: no Kafka broker has this setting: did you mean %s?", name, near)
	}
	return fmt.Errorf("-c %s: no Kafka broker has this setting", name)
}

// listeners returns where to listen: --listen, else the setting listeners, else
// the default.
func (opts *serveOptions) listeners(settings map[string]string) ([]broker.Listener, error) {
	var all []broker.Listener
	switch {
	case opts.Listen != "":
		all = []broker.Listener{{Addr: opts.Listen}}
	case settings["listeners"] != "":
		advertised := map[string]string{}
		for _, text := range kafkaconf.Split(settings["advertised.listeners"]) {
			l, err := parseListener(text)
			if err != nil {
				return nil, fmt.Errorf("advertised.listeners: %w", err)
			}
			advertised[l.Name] = l.Addr
		}
		controllers := kafkaconf.Split(settings["controller.listener.names"])
		protocols, err := protocolMap(settings["listener.security.protocol.map"])
		if err != nil {
			return nil, err
		}
		for _, text := range kafkaconf.Split(settings["listeners"]) {
			l, err := parseListener(text)
			if err != nil {
				return nil, fmt.Errorf("listeners: %w", err)
			}
			if slices.Contains(controllers, l.Name) {
				continue // kf's controller is in its own process
			}
			if protocol := cmp.Or(protocols[l.Name], l.Name); protocol != "PLAINTEXT" {
				return nil, fmt.Errorf("listeners: %s: kf serve supports no security protocol but PLAINTEXT yet, not %s", text, protocol)
			}
			l.Advertised = advertised[l.Name]
			all = append(all, l)
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("listeners: %s has none for clients", settings["listeners"])
		}
	case len(opts.Command) > 0:
		all = []broker.Listener{{Addr: "127.0.0.1:0"}}
	default:
		all = []broker.Listener{{Addr: defaultListen}}
	}
	if opts.Advertise != "" {
		if err := checkAddr(opts.Advertise); err != nil {
			return nil, fmt.Errorf("--advertise: %w", err)
		}
		all[0].Advertised = opts.Advertise
	}
	for _, l := range all {
		if err := checkAddr(l.Addr); err != nil {
			return nil, fmt.Errorf("cannot listen on %q: %w", l.Addr, err)
		}
		if !opts.Insecure && !loopback(l.Addr) {
			return nil, fmt.Errorf("%s can be reached from other machines, and kf serve asks nobody for a password: choose --listen %s, or add --insecure-listen", l.Addr, onLoopback(l.Addr))
		}
	}
	return all, nil
}

// onLoopback returns the port of an address on the loopback interface.
func onLoopback(addr string) string {
	_, port, _ := net.SplitHostPort(addr) // checkAddr was content
	return net.JoinHostPort("127.0.0.1", port)
}

// checkAddr checks HOST:PORT.
func checkAddr(addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if wrong, ok := errors.AsType[*net.AddrError](err); ok {
		return fmt.Errorf("%s: want host:port, such as 127.0.0.1:9092 or [::1]:9092", wrong.Err)
	}
	if err != nil {
		return err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q is no port: a number up to 65535", port)
	}
	return nil
}

// parseListener reads NAME://HOST:PORT.
func parseListener(text string) (broker.Listener, error) {
	name, addr, ok := strings.Cut(text, "://")
	if !ok || name == "" {
		return broker.Listener{}, fmt.Errorf("%q is not NAME://HOST:PORT", text)
	}
	return broker.Listener{Name: strings.ToUpper(name), Addr: addr}, nil
}

// protocolMap reads NAME:PROTOCOL,….
func protocolMap(text string) (map[string]string, error) {
	all := make(map[string]string)
	for _, entry := range kafkaconf.Split(text) {
		name, protocol, ok := strings.Cut(entry, ":")
		if !ok {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is not NAME:PROTOCOL", entry)
		}
		all[strings.ToUpper(name)] = strings.ToUpper(protocol)
	}
	return all, nil
}

// loopback reports whether only this machine can reach the address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost"
}
