package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// A tokenSource gets a token, which is that of a client for as long as it is valid.
type tokenSource func(context.Context) (string, error)

// oauth returns the OAUTHBEARER credential of the properties. A token comes from the
// options of the login module, unsigned, from a file, or from a token endpoint; which,
// depends on the properties as in Java. Source: Kafka 4.4.0,
// OAuthBearerUnsecuredLoginCallbackHandler.java, DefaultJwtRetriever.java.
func (s *settings) oauth(l login) *credential {
	source := s.tokenSource(l)
	if source == nil {
		return nil
	}
	extensions := make(map[string]string)
	for option, value := range l.options {
		for _, prefix := range []string{"extension_", "unsecuredLoginExtension_"} {
			if key, ok := strings.CutPrefix(option, prefix); ok {
				extensions[key] = value
			}
		}
	}
	factor := s.refreshFactor()
	kept := &keptToken{get: source, now: time.Now, factor: factor}
	return &credential{oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
		token, err := kept.token(ctx)
		if err != nil {
			return oauth.Auth{}, &TokenError{err}
		}
		return oauth.Auth{Token: token, Extensions: extensions}, nil
	}), ""}
}

// A TokenError says why there is no token to log in with.
type TokenError struct{ Err error }

func (e *TokenError) Error() string { return "no OAUTHBEARER token: " + e.Err.Error() }
func (e *TokenError) Unwrap() error { return e.Err }

const defaultRefreshFactor = 0.8

// refreshFactor is the part of a token's life after which a new one is asked for.
func (s *settings) refreshFactor() float64 {
	const name = "sasl.login.refresh.window.factor"
	if !s.set(name) {
		return defaultRefreshFactor
	}
	f, err := strconv.ParseFloat(s.get(name), 64)
	if err != nil || f < 0.5 || f > 1 {
		s.refuse(name, "it is %q, but must be between 0.5 and 1.0", s.get(name))
		return defaultRefreshFactor
	}
	return f
}

func (s *settings) tokenSource(l login) tokenSource {
	const handlerName, endpointName, retrieverName = "sasl.login.callback.handler.class", "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.jwt.retriever.class"
	unsecured := func() tokenSource {
		source, err := unsecuredToken(l.options)
		if err != nil {
			s.refuse("sasl.jaas.config", "%w", err)
			return nil
		}
		return source
	}
	switch handler := s.class(handlerName); handler {
	case "":
		if !s.set(endpointName) && !s.set(retrieverName) {
			return unsecured()
		}
	case "OAuthBearerUnsecuredLoginCallbackHandler":
		return unsecured()
	case "OAuthBearerLoginCallbackHandler":
	default:
		s.refuse(handlerName, "kf cannot run Java code: %s is unknown here, org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler is known", handler)
		return nil
	}
	endpoint, err := url.Parse(s.get(endpointName))
	switch {
	case err != nil || endpoint.Scheme == "":
		s.refuse(endpointName, "it must be set to the address of a token endpoint, https://…, or of a file with a token, file:///…")
		return nil
	case endpoint.Scheme != "file" && endpoint.Scheme != "http" && endpoint.Scheme != "https":
		s.refuse(endpointName, "its scheme is %q, but must be https, http or file", endpoint.Scheme)
		return nil
	}
	retriever := s.class(retrieverName)
	switch retriever {
	case "", "DefaultJwtRetriever":
		if endpoint.Scheme == "file" {
			return fileToken(endpoint.Path)
		}
	case "FileJwtRetriever":
		return fileToken(endpoint.Path)
	case "ClientCredentialsJwtRetriever", "JwtBearerJwtRetriever":
	default:
		s.refuse(retrieverName, "kf cannot run Java code: %s is unknown here", retriever)
		return nil
	}
	return s.endpointToken(endpoint, l, retriever == "JwtBearerJwtRetriever")
}

// fileToken reads a token anew each time: others renew it.
func fileToken(path string) tokenSource {
	return func(context.Context) (string, error) {
		text, err := readSmall(path)
		if err != nil {
			return "", err
		}
		token := string(bytes.TrimSpace(text))
		if token == "" {
			return "", fmt.Errorf("%s is empty", path)
		}
		return token, nil
	}
}

// unsecuredToken makes a token without a signature, of what options of the login
// module say, as brokers for tests take it.
func unsecuredToken(options map[string]string) (tokenSource, error) {
	claims := make(map[string]any)
	lifetime := time.Hour
	principal := "sub"
	for option, value := range options {
		kind, name, isClaim := strings.Cut(strings.TrimPrefix(option, "unsecuredLogin"), "_")
		switch {
		case !strings.HasPrefix(option, "unsecuredLogin"), isClaim && name == "":
		case isClaim && (name == "iat" || name == "exp"):
			return nil, fmt.Errorf("option %s: %s cannot be chosen", option, name)
		case isClaim && kind == "StringClaim":
			claims[name] = value
		case isClaim && kind == "ListClaim":
			claims[name] = listClaim(value)
		case isClaim && kind == "NumberClaim":
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return nil, fmt.Errorf("option %s is no number", option)
			}
			claims[name] = n
		case option == "unsecuredLoginLifetimeSeconds":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("option %s is no whole number", option)
			}
			lifetime = time.Duration(n) * time.Second
		case option == "unsecuredLoginPrincipalClaimName" && strings.TrimSpace(value) != "":
			principal = strings.TrimSpace(value)
		}
	}
	if name, ok := claims[principal].(string); !ok || name == "" {
		return nil, fmt.Errorf(`OAuthBearerLoginModule has no option unsecuredLoginStringClaim_%s="…", which says who logs in; for a token of an identity provider set sasl.oauthbearer.token.endpoint.url`, principal)
	}
	return func(context.Context) (string, error) {
		now := time.Now()
		claims["iat"], claims["exp"] = seconds(now), seconds(now.Add(lifetime))
		text, err := json.Marshal(claims)
		if err != nil {
			return "", err
		}
		enc := base64.RawURLEncoding.EncodeToString
		return enc([]byte(`{"alg":"none"}`)) + "." + enc(text) + ".", nil
	}, nil
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// listClaim splits at what the first character is: "|a|b".
func listClaim(value string) []string {
	if len(value) <= 1 {
		return []string{}
	}
	r := []rune(value)
	return strings.Split(string(r[1:]), string(r[0]))
}

// A keptToken keeps a token until most of its life is over.
type keptToken struct {
	get    tokenSource
	now    func() time.Time
	factor float64

	mu      sync.Mutex
	current string
	until   time.Time
}

func (k *keptToken) token(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if k.current != "" && now.Before(k.until) {
		return k.current, nil
	}
	token, err := k.get(ctx)
	if err != nil {
		return "", err
	}
	expiry, err := expiryOf(token)
	if err != nil {
		return "", err
	}
	if !expiry.IsZero() && !expiry.After(now) {
		return "", fmt.Errorf("the token expired at %s", expiry.UTC().Format(time.RFC3339))
	}
	k.current, k.until = token, now // one without an expiry is used once
	if !expiry.IsZero() {
		k.until = now.Add(time.Duration(float64(expiry.Sub(now)) * k.factor))
	}
	return token, nil
}

// expiryOf reads the claim exp of a token, zero if the token does not say it.
func expiryOf(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, errors.New("what was given is no JSON web token: it has not three parts")
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return time.Time{}, errors.New("what was given is no JSON web token: its second part is not base64")
	}
	var claims struct {
		Exp *float64 `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return time.Time{}, errors.New("the claims of the token are not JSON")
	}
	if claims.Exp == nil || *claims.Exp < 0 || *claims.Exp > 1e11 {
		return time.Time{}, nil
	}
	return time.UnixMilli(int64(*claims.Exp * 1000)), nil
}
