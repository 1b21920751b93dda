//go:build interop

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// secureProperties are those of a node with a listener of each kind.
const secureProperties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[1]s
listeners=PLAINTEXT://%[2]s,SSL://%[3]s,MUTUAL://%[4]s,SASL://%[5]s,SASLSSL://%[6]s,CONTROLLER://%[1]s
advertised.listeners=PLAINTEXT://%[2]s,SSL://%[3]s,MUTUAL://%[4]s,SASL://%[5]s,SASLSSL://%[6]s
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,MUTUAL:SSL,SASL:SASL_PLAINTEXT,SASLSSL:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=%[7]s/data
offsets.topic.replication.factor=1
ssl.keystore.location=%[7]s/server.p12
ssl.keystore.password=changeit
ssl.keystore.type=PKCS12
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.truststore.location=%[7]s/clients.pem
listener.name.mutual.ssl.truststore.type=PEM
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
`

// logins are the login modules of the listeners with SASL.
const logins = `listener.name.%[1]s.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="pass;word\\"=1";
listener.name.%[1]s.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.%[1]s.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.%[1]s.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
`

// TestOnlineConnect gives the same client.properties to Kafka's tool and to kf: both
// get to the cluster, or neither does.
func TestOnlineConnect(t *testing.T) {
	k := newKafka(t)
	n := &node{k: k, dir: t.TempDir(), bootstrap: freePort(t)}
	c := &cluster{tools: k.newTools(t, t.TempDir())}
	stores, err := filepath.Abs("../format/keystore/testdata")
	if err != nil {
		t.Fatal(err)
	}
	keytool := func(args ...string) {
		t.Helper()
		run(t, exec.Command("keytool", append(args, "-storepass", "changeit", "-noprompt")...))
	}
	keytool("-genkeypair", "-alias", "server", "-keystore", n.path("server.p12"), "-storetype", "PKCS12", "-keyalg", "EC", "-groupname", "secp256r1",
		"-validity", "30", "-dname", "CN=server", "-ext", "san=ip:127.0.0.1,dns:localhost")
	keytool("-exportcert", "-rfc", "-alias", "server", "-keystore", n.path("server.p12"), "-file", n.path("server.pem"))
	for _, kind := range []string{"jks", "pkcs12"} {
		keytool("-importcert", "-alias", "server", "-file", n.path("server.pem"), "-keystore", n.path("trust."+kind), "-storetype", kind)
	}
	var clients []byte
	for _, name := range []string{"ca.pem", "key.pem"} {
		text, err := os.ReadFile(filepath.Join(stores, name))
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, text...)
	}
	ports := map[string]string{"plaintext": n.bootstrap, "controller": freePort(t), "closed": freePort(t)}
	for _, name := range []string{"ssl", "mutual", "sasl", "saslssl"} {
		ports[name] = freePort(t)
	}
	properties := fmt.Sprintf(secureProperties, ports["controller"], n.bootstrap, ports["ssl"], ports["mutual"], ports["sasl"], ports["saslssl"], filepath.ToSlash(n.dir)) +
		fmt.Sprintf(logins, "sasl") + fmt.Sprintf(logins, "saslssl")
	for name, text := range map[string][]byte{"clients.pem": clients, "server.properties": []byte(properties)} {
		if err := os.WriteFile(n.path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.java(t, "kafka.tools.StorageTool", "format", "--cluster-id", "kfInteropCluster000006", "--config", n.path("server.properties"),
		"--add-scram", "SCRAM-SHA-256=[name=alice,password=secret256]", "--add-scram", "SCRAM-SHA-512=[name=alice,password=secret512]")
	n.start(t)

	trust := func(kind string) string {
		return "ssl.truststore.location=" + n.path("trust."+kind) + "\nssl.truststore.type=" + kind + "\nssl.truststore.password=changeit\n"
	}
	trustPEM := "ssl.truststore.location=" + n.path("server.pem") + "\nssl.truststore.type=PEM\n"
	pem, err := os.ReadFile(n.path("server.pem"))
	if err != nil {
		t.Fatal(err)
	}
	key := func(kind, more string) string {
		return "ssl.keystore.location=" + filepath.Join(stores, "key."+kind) + "\nssl.keystore.type=" + kind + "\nssl.keystore.password=changeit\n" + more
	}
	sasl := func(mechanism, module, options string) string {
		return "sasl.mechanism=" + mechanism + "\nsasl.jaas.config=org.apache.kafka.common.security." + module + " required \\\n   " + options + ";\n"
	}
	plain := sasl("PLAIN", "plain.PlainLoginModule", `username="alice" password="pass;word\\"=1"`)
	scram256 := sasl("SCRAM-SHA-256", "scram.ScramLoginModule", `username=alice password='secret256'`)
	scram512 := sasl("SCRAM-SHA-512", "scram.ScramLoginModule", `username="alice" password="secret512"`)
	token := sasl("OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule", `unsecuredLoginStringClaim_sub="alice"`)
	const ssl, overTLS, overPlain = "security.protocol=SSL\n", "security.protocol=SASL_SSL\n", "security.protocol=SASL_PLAINTEXT\n"
	for _, tt := range []struct {
		name, to, properties string
		fails                string // what kf says; "": it works
	}{
		{"plaintext", "plaintext", "", ""},
		{"tls JKS", "ssl", ssl + trust("jks"), ""},
		{"tls PKCS12", "ssl", ssl + trust("pkcs12"), ""},
		{"tls PEM", "ssl", ssl + trustPEM, ""},
		{"tls PEM inline", "ssl", ssl + "ssl.truststore.type=PEM\nssl.truststore.certificates=" + strings.Join(strings.Fields(string(pem)), " ") + "\n", ""},
		{"tls 1.2", "ssl", ssl + trust("jks") + "ssl.enabled.protocols=TLSv1.2\nssl.protocol=TLSv1.2\nssl.cipher.suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n", ""},
		{"key JKS", "mutual", ssl + trust("jks") + key("jks", "ssl.key.password=secret\n"), ""},
		{"key PKCS12", "mutual", ssl + trust("jks") + key("pkcs12", ""), ""},
		{"key PEM", "mutual", ssl + trustPEM + "ssl.keystore.type=PEM\nssl.keystore.location=" + filepath.Join(stores, "encrypted_pbes1.pem") + "\nssl.key.password=secret\n", ""},
		{"plain", "sasl", overPlain + plain, ""},
		{"scram 256", "sasl", overPlain + scram256, ""},
		{"scram 512", "saslssl", overTLS + trust("jks") + scram512, ""},
		{"token", "sasl", overPlain + token, ""},
		{"token over tls", "saslssl", overTLS + trustPEM + token, ""},

		{"refused", "closed", "", "connection refused"},
		{"unknown authority", "ssl", ssl, "is signed by CN=server, which is not trusted"},
		{"other authority", "ssl", ssl + "ssl.truststore.location=" + filepath.Join(stores, "trust.jks") + "\nssl.truststore.password=changeit\n", "which is not trusted"},
		{"no key", "mutual", ssl + trust("jks"), "set ssl.keystore.location"},
		{"key password", "mutual", ssl + trust("jks") + key("jks", ""), "wrong password of the key: see ssl.keystore.password or ssl.key.password"},
		{"store password", "ssl", ssl + strings.Replace(trust("jks"), "changeit", "wrong", 1), "wrong password"},
		{"plain password", "sasl", overPlain + strings.Replace(plain, ";word", ";wort", 1), "does not let user alice in with PLAIN: "},
		{"scram password", "saslssl", overTLS + trust("jks") + strings.Replace(scram512, "512\"", "513\"", 1), "does not let user alice in with SCRAM-SHA-512: "},
		{"mechanism", "sasl", overPlain + strings.Replace(plain, "PLAIN", "GSSAPI", 1), "GSSAPI"},
		{"plaintext to sasl", "sasl", "", "it is a listener with security.protocol SASL_PLAINTEXT and sasl.mechanism "},
		{"plaintext to tls", "ssl", "", "it is a listener with security.protocol SSL"},
		{"tls to plaintext", "plaintext", ssl + trust("jks"), "it is a listener with security.protocol PLAINTEXT"},
		{"sasl to plaintext", "plaintext", overPlain + plain, "is a listener without SASL"},
		{"tls to sasl and tls", "saslssl", ssl + trust("jks"), "it is a listener with security.protocol SASL_SSL and sasl.mechanism "},
		{"plaintext to sasl and tls", "saslssl", "", "it is a listener with security.protocol SASL_SSL and sasl.mechanism "},
		{"controller", "controller", "", "it is a controller of KRaft"},
	} {
		file := n.path(strings.ReplaceAll(tt.name, " ", "-") + ".properties")
		text := tt.properties + "default.api.timeout.ms=900\nrequest.timeout.ms=900\nacks=all\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := c.try(t, "org.apache.kafka.tools.TopicCommand", "--list", "--bootstrap-server", ports[tt.to], "--command-config", file)
		got := runKF("topics", "list", "--bootstrap-server", ports[tt.to], "--command-config", file)
		if (want.exit == 0) != (tt.fails == "") || (got.exit == 0) != (want.exit == 0) || !strings.Contains(got.stderr, tt.fails) {
			t.Errorf("%s: Kafka's tool exits with %d, kf with %d: %s, want %q\nKafka: %s%s", tt.name, want.exit, got.exit, got.stderr, tt.fails, want.stdout, want.stderr)
		}
		t.Logf("%s: %s", tt.name, strings.TrimSpace(got.stderr))
	}
}
