package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const bearerModule = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "

// tokenUntil returns a token without a signature.
func tokenUntil(at time.Time) string {
	text := fmt.Sprintf(`{"sub":"alice","exp":%d}`, at.Unix())
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(text)) + "."
}

func oauthSettings(options string, pairs ...string) *settings {
	p := Properties{"sasl.jaas.config": {Value: bearerModule + options + ";", Origin: "f: line 1"}, "sasl.mechanism": {Value: "OAUTHBEARER", Origin: "f: line 2"}}
	for i := 0; i < len(pairs); i += 2 {
		p[pairs[i]] = Property{pairs[i+1], "f: line 3"}
	}
	return &settings{props: p}
}

// initial returns what the client would send first.
func initial(t *testing.T, s *settings) (string, error) {
	t.Helper()
	c := s.sasl()
	if err := s.err(); err != nil {
		return "", err
	}
	_, first, err := c.Authenticate(t.Context(), "b:1")
	return string(first), err
}

func TestUnsecuredToken(t *testing.T) {
	first, err := initial(t, oauthSettings(`unsecuredLoginStringClaim_sub="alice" unsecuredLoginNumberClaim_n="1.5" unsecuredLoginListClaim_scope="|a|b" unsecuredLoginLifetimeSeconds="60" unsecuredLoginExtension_traceId="7"`))
	if err != nil {
		t.Fatal(err)
	}
	token, rest, ok := strings.Cut(strings.TrimPrefix(first, "n,,\x01auth=Bearer "), "\x01")
	if !ok || rest != "traceId=7\x01\x01" {
		t.Fatalf("%q", first)
	}
	parts := strings.Split(token, ".")
	head, _ := base64.RawURLEncoding.DecodeString(parts[0])
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || string(head) != `{"alg":"none"}` || parts[2] != "" {
		t.Fatalf("%q: %s: %v", token, head, err)
	}
	var claims struct {
		Sub      string
		N        float64
		Scope    []string
		Iat, Exp float64
	}
	if err := json.Unmarshal(body, &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Sub != "alice" || claims.N != 1.5 || len(claims.Scope) != 2 || claims.Scope[1] != "b" || claims.Exp-claims.Iat < 59.9 || claims.Exp-claims.Iat > 60.1 {
		t.Errorf("%s", body)
	}
	for options, want := range map[string]string{
		``: "no option unsecuredLoginStringClaim_sub",
		`unsecuredLoginStringClaim_sub="a" unsecuredLoginStringClaim_exp="1"`:      "exp cannot be chosen",
		`unsecuredLoginStringClaim_sub="a" unsecuredLoginNumberClaim_n="x"`:        "is no number",
		`unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="x"`:      "is no whole number",
		`unsecuredLoginStringClaim_sub="a" unsecuredLoginPrincipalClaimName="who"`: "no option unsecuredLoginStringClaim_who",
	} {
		if _, err := initial(t, oauthSettings(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", options, err, want)
		}
	}
}

func TestTokenEndpoint(t *testing.T) {
	var asked []string
	var answers []func(http.ResponseWriter)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		id, secret, _ := r.BasicAuth()
		asked = append(asked, fmt.Sprintf("%s %s %s:%s", r.Method, r.PostForm.Encode(), id, secret))
		answer := answers[0]
		answers = answers[1:]
		answer(w)
	}))
	defer server.Close()
	say := func(status int, format string, a ...any) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			fmt.Fprintf(w, format, a...)
		}
	}
	token := tokenUntil(time.Now().Add(time.Hour))
	good := say(200, `{"access_token":%q,"token_type":"Bearer"}`, token)
	assertion := filepath.Join(t.TempDir(), "assertion")
	if err := os.WriteFile(assertion, []byte("as.ser.tion\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const endpoint = "sasl.oauthbearer.token.endpoint.url"
	handler := []string{"sasl.login.callback.handler.class", "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler", endpoint, server.URL + "/token", "sasl.login.retry.backoff.ms", "1"}
	for _, tt := range []struct {
		name, options string
		props         []string
		answers       []func(http.ResponseWriter)
		asked         []string
		err           string
	}{
		{"options of the module", `clientId="kf" clientSecret="s3cret" scope="a b" extension_logicalCluster="lkc"`, handler, []func(http.ResponseWriter){good},
			[]string{"POST grant_type=client_credentials&scope=a+b kf:s3cret"}, ""},
		{"properties before options", `clientId="x" clientSecret="y"`, append([]string{"sasl.oauthbearer.client.credentials.client.id", "kf", "sasl.oauthbearer.client.credentials.client.secret", "s3cret", "sasl.oauthbearer.scope", "all"}, handler[2:]...),
			[]func(http.ResponseWriter){say(200, `{"id_token":%q}`, token)}, []string{"POST grant_type=client_credentials&scope=all kf:s3cret"}, ""},
		{"escaped", `clientId="a:b" clientSecret="s+"`, append([]string{"sasl.oauthbearer.header.urlencode", "true"}, handler...), []func(http.ResponseWriter){good}, []string{"POST grant_type=client_credentials a%3Ab:s%2B"}, ""},
		{"assertion", ``, append([]string{"sasl.oauthbearer.assertion.file", assertion, "sasl.oauthbearer.jwt.retriever.class", "org.apache.kafka.common.security.oauthbearer.JwtBearerJwtRetriever"}, handler...), []func(http.ResponseWriter){good},
			[]string{"POST assertion=as.ser.tion&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer :"}, ""},
		{"client assertion", `clientId="kf"`, append([]string{"sasl.oauthbearer.assertion.file", assertion}, handler...), []func(http.ResponseWriter){good},
			[]string{"POST client_assertion=as.ser.tion&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_id=kf&grant_type=client_credentials :"}, ""},
		{"again after a failure that passes", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(503, ""), say(500, "oops"), good}, []string{"", "", ""}, ""},
		{"wrong secret", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(401, `{"error":"invalid_client","error_description":"bad credentials"}`)}, []string{""},
			"no OAUTHBEARER token: token endpoint " + server.URL + "/token answers 401 Unauthorized: invalid_client bad credentials"},
		{"no JSON", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(200, "<html>")}, []string{""}, "does not answer with JSON"},
		{"no token", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(200, "{}")}, []string{""}, "has no access_token"},
		{"opaque token", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(200, `{"access_token":"opaque-s3cret"}`)}, []string{""}, "no JSON web token"},
		{"expired token", `clientId="kf" clientSecret="s3cret"`, handler, []func(http.ResponseWriter){say(200, `{"access_token":%q}`, tokenUntil(time.Unix(1700000000, 0)))}, []string{""}, "the token expired at 2023-11-14T22:13:20Z"},
		{"no credentials", `clientId="kf"`, handler, nil, nil, "the credentials for it are missing"},
		{"no endpoint", `clientId="kf" clientSecret="s3cret"`, handler[:2], nil, nil, endpoint + ": it must be set"},
		{"odd scheme", ``, append([]string{}, append(handler[:2:2], endpoint, "ftp://x/")...), nil, nil, `its scheme is "ftp"`},
		{"other handler", ``, []string{"sasl.login.callback.handler.class", "com.example.Handler"}, nil, nil, "kf cannot run Java code: Handler is unknown here"},
		{"signing", ``, append([]string{"sasl.oauthbearer.assertion.claim.iss", "kf"}, handler...), nil, nil, "kf signs no assertions"},
	} {
		asked, answers = nil, tt.answers
		first, err := initial(t, oauthSettings(tt.options, tt.props...))
		switch {
		case tt.err == "" && (err != nil || !strings.Contains(first, "auth=Bearer "+token)):
			t.Errorf("%s: %q, %v", tt.name, first, err)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: %v, want %s", tt.name, err, tt.err)
		}
		if len(asked) != len(tt.asked) {
			t.Errorf("%s: asked %q", tt.name, asked)
			continue
		}
		for i, want := range tt.asked {
			if want != "" && asked[i] != want {
				t.Errorf("%s: asked %q, want %q", tt.name, asked[i], want)
			}
		}
	}
}

func TestTokenFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	s := func() *settings {
		return oauthSettings("", "sasl.oauthbearer.token.endpoint.url", "file://"+filepath.ToSlash(file))
	}
	if _, err := initial(t, s()); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("no file: %v", err)
	}
	token := tokenUntil(time.Now().Add(time.Hour))
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if first, err := initial(t, s()); err != nil || !strings.Contains(first, "Bearer "+token+"\x01") {
		t.Errorf("%q, %v", first, err)
	}
}

// A token is used until most of its life is over, then the next one is asked for.
func TestKeptToken(t *testing.T) {
	now := time.Unix(1000, 0)
	var given int
	k := &keptToken{now: func() time.Time { return now }, factor: 0.8, get: func(context.Context) (string, error) {
		given++
		return tokenUntil(now.Add(100 * time.Second)), nil
	}}
	for _, tt := range []struct {
		at    int64
		given int
	}{{1000, 1}, {1079, 1}, {1081, 2}, {1160, 2}, {1170, 3}} {
		now = time.Unix(tt.at, 0)
		if _, err := k.token(t.Context()); err != nil || given != tt.given {
			t.Errorf("at %d: %d tokens, %v; want %d", tt.at, given, err, tt.given)
		}
	}
}
