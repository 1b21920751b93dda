package client_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kf/internal/client"
)

// made returns what New says to properties.
func made(p client.Properties, getenv func(string) string) (remarks []string, err error) {
	if _, ok := p["bootstrap.servers"]; !ok {
		p["bootstrap.servers"] = client.Property{Value: "b:1"}
	}
	cl, err := client.New(client.Options{Properties: p, Getenv: getenv, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for _, r := range cl.Remarks() {
		text := r.String()
		if r.Warning {
			text = "! " + text
		}
		remarks = append(remarks, strings.ReplaceAll(text, "client.properties: line 3: ", ""))
	}
	return remarks, nil
}

func TestWrongProperties(t *testing.T) {
	store := func(name string) string { return filepath.Join("..", "format", "keystore", "testdata", name) }
	const tls, sasl = "SSL", "SASL_PLAINTEXT"
	for _, tt := range []struct {
		props []string
		want  string
	}{
		{[]string{"bootstrap.servers", " , "}, "no address in"},
		{[]string{"bootstrap.servers", ":9092"}, `":9092" names no host`},
		{[]string{"security.protocol", "TLS"}, `security.protocol: it is "TLS", but must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL`},
		{[]string{"request.timeout.ms", "5s"}, `request.timeout.ms: it is "5s", but must be a whole number from 0 on`},
		{[]string{"request.timeout.ms", "-1"}, "must be a whole number from 0 on"},
		{[]string{"client.dns.lookup", "default"}, "must be use_all_dns_ips or"},
		{[]string{"bootstrap.controllers", "c:1"}, "bootstrap.controllers: this asks brokers"},
		{[]string{"security.protocol", sasl}, "sasl.mechanism and sasl.jaas.config must be set"},
		{[]string{"security.protocol", sasl, "sasl.jaas.config", plainLogin}, "sasl.mechanism: it is not set, and means GSSAPI (Kerberos)"},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "GSSAPI"}, "kf does not speak GSSAPI (Kerberos): ask for a listener with one of PLAIN"},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "scram-sha-256"}, "it is spelt SCRAM-SHA-256"},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "AWS_MSK_IAM"}, `kf does not speak "AWS_MSK_IAM"`},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "PLAIN"}, "sasl.jaas.config: it is not set, as sasl.mechanism=PLAIN needs: org.apache.kafka.common.security.plain.PlainLoginModule required"},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "PLAIN", "sasl.jaas.config", scramLogin}, "ScramLoginModule is not the login module of sasl.mechanism=PLAIN, which is org.apache.kafka.common.security.plain.PlainLoginModule"},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "PLAIN", "sasl.jaas.config", "x.PlainLoginModule required username=\"alice\";"}, `PlainLoginModule has no option password="…"`},
		{[]string{"security.protocol", sasl, "sasl.mechanism", "PLAIN", "sasl.jaas.config", plainLogin, "sasl.login.callback.handler.class", "com.example.Vault"}, "sasl.login.callback.handler.class: kf cannot run Java code"},
		{[]string{"security.protocol", tls, "ssl.engine.factory.class", "com.example.Spiffe"}, "kf cannot run Java code"},
		{[]string{"security.protocol", tls, "ssl.truststore.location", "nowhere.jks"}, "ssl.truststore.location: stat nowhere.jks: no such file"},
		{[]string{"security.protocol", tls, "ssl.truststore.location", "."}, "is no file"},
		{[]string{"security.protocol", tls, "ssl.truststore.location", store("trust.jks"), "ssl.truststore.password", "s3cret"}, "trust.jks: wrong password, or somebody changed the file: see ssl.truststore.password"},
		{[]string{"security.protocol", tls, "ssl.truststore.location", store("trust.pkcs12")}, "trust.pkcs12: a password is needed: see ssl.truststore.password"},
		{[]string{"security.protocol", tls, "ssl.truststore.location", "settings_test.go"}, "settings_test.go: neither PEM nor PKCS12 nor JKS"},
		{[]string{"security.protocol", tls, "ssl.truststore.certificates", "x", "ssl.truststore.location", "y"}, "ssl.truststore.location is set too"},
		{[]string{"security.protocol", tls, "ssl.keystore.key", "x"}, "ssl.keystore.certificate.chain is missing"},
		{[]string{"security.protocol", tls, "ssl.keystore.certificate.chain", "x"}, "ssl.keystore.key is missing"},
		{[]string{"security.protocol", tls, "ssl.keystore.location", store("trust.jks"), "ssl.keystore.password", "changeit"}, "trust.jks: damaged: there is no private key in it"},
		{[]string{"security.protocol", tls, "ssl.endpoint.identification.algorithm", "LDAPS"}, "must be https or empty"},
		{[]string{"security.protocol", tls, "ssl.enabled.protocols", "SSLv3"}, `it has "SSLv3", but kf speaks TLSv1.3 and TLSv1.2`},
		{[]string{"security.protocol", tls, "ssl.protocol", "DTLS"}, `it is "DTLS"`},
		{[]string{"config.providers", "vault"}, "config.providers: config.providers.vault.class is not set"},
		{[]string{"config.providers", "vault", "config.providers.vault.class", "com.example.VaultProvider"}, "kf has no provider VaultProvider"},
		// all at once
		{[]string{"retries", "x", "security.protocol", tls, "ssl.truststore.location", "nowhere.jks"}, "nowhere.jks: no such file or directory\nclient.properties: line 3: retries: "},
	} {
		_, err := made(props(tt.props...), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.props, err, tt.want)
			continue
		}
		for _, secret := range []string{"s3cret", "secret!"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v shows a password", tt.props, err)
			}
		}
	}
}

func TestRemarks(t *testing.T) {
	store := func(name string) string { return filepath.Join("..", "format", "keystore", "testdata", name) }
	for _, tt := range []struct {
		props []string
		want  []string
	}{
		{[]string{"client.id", "me", "retries", "3", "default.api.timeout.ms", "5000", "metadata.max.age.ms", "1000"}, nil},
		{[]string{"acks", "all", "group.id", "g", "metric.reporters", "", "my.own", "x"},
			[]string{"acks: it is a property of producers", "group.id: it is a property of consumers", "metric.reporters: it is of Java clients only and does nothing in kf"}},
		{[]string{"ssl.truststore.location", "nowhere", "sasl.jaas.config", "not read"},
			[]string{"ssl.truststore.location: security.protocol is PLAINTEXT, which does not use it", "sasl.jaas.config: security.protocol is PLAINTEXT, which does not use it"}},
		{[]string{"connections.max.idle.ms", "3600000"}, []string{"connections.max.idle.ms: kf makes it 15m0s"}},
		{[]string{"security.protocol", "SSL", "ssl.endpoint.identification.algorithm", ""}, []string{"! ssl.endpoint.identification.algorithm: the host names in the brokers' certificates are not checked"}},
		{[]string{"security.protocol", "SSL", "ssl.truststore.location", store("ca.pem")},
			[]string{"ssl.truststore.type: " + store("ca.pem") + " is PEM, and is read as such, but Java needs ssl.truststore.type=PEM"}},
		{[]string{"security.protocol", "SSL", "ssl.truststore.location", store("trust.pkcs12"), "ssl.truststore.password", "changeit"}, nil},
		{[]string{"security.protocol", "SSL", "ssl.cipher.suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_NULL_MD5"}, []string{"ssl.cipher.suites: kf has no TLS_RSA_WITH_NULL_MD5"}},
		{[]string{"security.protocol", "SSL", "ssl.enabled.protocols", "TLSv1.1,TLSv1.2"}, []string{"! ssl.enabled.protocols: versions before TLSv1.2 can be broken"}},
	} {
		got, err := made(props(tt.props...), nil)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(tt.want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", tt.props, got, err, want)
		}
	}
}

func TestConfigProviders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secrets.properties": "who=alice\npass=p\\u0061ss\n", "token": "tok"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string { return map[string]string{"SERVERS": "one:1,two:2"}[name] }
	providers := []string{
		"config.providers", "env, file,dir",
		"config.providers.env.class", "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
		"config.providers.file.class", "org.apache.kafka.common.config.provider.FileConfigProvider",
		"config.providers.dir.class", "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
	}
	for _, tt := range []struct{ value, want, err string }{
		{"${env:SERVERS}", "one:1,two:2", ""},
		{"${env::SERVERS},three:3", "one:1,two:2,three:3", ""},
		{"${file:" + dir + "/secrets.properties:who}-${file:" + dir + "/secrets.properties:pass}", "alice-pass:9092", ""},
		{"${dir:" + dir + ":token}", "tok:9092", ""},
		{"${dir:" + dir + ":../token}", "", "is no name of a file"},
		{"${file:" + dir + "/missing:who}", "", "missing: no such file"},
		{"host${other}", "host${other}:9092", ""}, // no reference: it stays, as in Java
	} {
		p := props(append([]string{"bootstrap.servers", tt.value}, providers...)...)
		cl, err := client.New(client.Options{Properties: p, Getenv: getenv, Timeout: time.Second})
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %s", tt.value, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
			continue
		}
		if got := cl.Seeds(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.value, got, tt.want)
		}
		cl.Close()
	}
}

// The catalog is that of a Kafka release: its order of magnitude, and no name twice.
func TestKnown(t *testing.T) {
	names := client.Names()
	if len(names) < 140 || !slices.IsSorted(names) {
		t.Errorf("%d names", len(names))
	}
	for name, meant := range map[string]string{"ssl.ca.location": "ssl.truststore.location", "sasl.mechanisms": "sasl.mechanism", "security.protocl": "security.protocol", "ssl.truststore": "ssl.truststore.certificates", "zzz": ""} {
		if client.Known(name) || client.Meant(name) != meant {
			t.Errorf("%s: known %v, meant %q; want %q", name, client.Known(name), client.Meant(name), meant)
		}
	}
	if !client.Known("config.providers.x.class") || !client.Known("acks") {
		t.Error("a known name is unknown")
	}
}
