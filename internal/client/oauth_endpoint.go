package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An endpoint is where tokens are asked for.
type endpoint struct {
	url     *url.URL
	client  *http.Client
	prepare func() (form url.Values, authorize func(*http.Request), err error)
	backoff func(tries int) time.Duration
}

// tokenTries bounds how often an endpoint is asked that fails for the moment.
const tokenTries = 4

// endpointToken returns tokens of an endpoint, for client credentials or, with bearer,
// for an assertion in a file.
func (s *settings) endpointToken(at *url.URL, l login, bearer bool) tokenSource {
	e := &endpoint{
		url: at,
		backoff: backoff(
			s.millis("sasl.login.retry.backoff.ms", 100*time.Millisecond, time.Millisecond, time.Minute),
			s.millis("sasl.login.retry.backoff.max.ms", 10*time.Second, time.Millisecond, time.Minute)),
	}
	// The options of the login module may have TLS properties for the endpoint.
	own := &settings{props: make(Properties)}
	for option, value := range l.options {
		if strings.HasPrefix(option, "ssl.") {
			own.props[option] = Property{value, s.props["sasl.jaas.config"].Origin}
		}
	}
	secure := own.tls()
	s.remarks, s.errs = append(s.remarks, own.remarks...), append(s.errs, own.errs...)
	connect := s.millis("sasl.login.connect.timeout.ms", 10*time.Second, time.Millisecond, time.Minute)
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		TLSClientConfig:     secure.to(at.Hostname()),
		TLSHandshakeTimeout: connect,
	}
	e.client = &http.Client{
		Transport: transport,
		Timeout:   s.millis("sasl.login.read.timeout.ms", 20*time.Second, time.Millisecond, 10*time.Minute),
	}
	option := func(property, option string) string {
		if v := s.get(property); v != "" {
			return strings.TrimSpace(v)
		}
		return strings.TrimSpace(l.options[option])
	}
	id := option("sasl.oauthbearer.client.credentials.client.id", "clientId")
	secret := option("sasl.oauthbearer.client.credentials.client.secret", "clientSecret")
	scope := option("sasl.oauthbearer.scope", "scope")
	assertion := s.get("sasl.oauthbearer.assertion.file")
	escape := s.flag("sasl.oauthbearer.header.urlencode")
	form := url.Values{}
	if scope != "" {
		form.Set("scope", scope)
	}
	withAssertion := func(field string) func() (url.Values, func(*http.Request), error) {
		read := fileToken(assertion)
		return func() (url.Values, func(*http.Request), error) {
			text, err := read(context.Background())
			form.Set(field, text)
			return form, func(*http.Request) {}, err
		}
	}
	switch {
	case assertion == "" && (bearer || s.set("sasl.oauthbearer.assertion.claim.iss")):
		s.refuse("sasl.oauthbearer.token.endpoint.url", "kf signs no assertions: have one in the file of sasl.oauthbearer.assertion.file, or use client credentials")
		return nil
	case bearer:
		form.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
		e.prepare = withAssertion("assertion")
	case assertion != "":
		form.Set("grant_type", "client_credentials")
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		if id != "" {
			form.Set("client_id", id)
		}
		e.prepare = withAssertion("client_assertion")
	case id == "" || secret == "":
		s.refuse("sasl.oauthbearer.token.endpoint.url", "the credentials for it are missing: sasl.oauthbearer.client.credentials.client.id and sasl.oauthbearer.client.credentials.client.secret, or clientId and clientSecret in sasl.jaas.config")
		return nil
	default:
		form.Set("grant_type", "client_credentials")
		if escape {
			id, secret = url.QueryEscape(id), url.QueryEscape(secret)
		}
		e.prepare = func() (url.Values, func(*http.Request), error) {
			return form, func(r *http.Request) { r.SetBasicAuth(id, secret) }, nil
		}
	}
	return e.token
}

// token asks for a token, again if that failed for a reason that passes.
func (e *endpoint) token(ctx context.Context) (string, error) {
	for tries := 1; ; tries++ {
		token, again, err := e.ask(ctx)
		if err == nil || !again || tries == tokenTries {
			return token, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(e.backoff(tries)):
		}
	}
}

func (e *endpoint) ask(ctx context.Context) (token string, again bool, err error) {
	form, authorize, err := e.prepare()
	if err != nil {
		return "", false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Cache-Control", "no-cache")
	authorize(r)
	resp, err := e.client.Do(r)
	if err != nil {
		return "", true, fmt.Errorf("token endpoint: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProvided))
	if err != nil {
		return "", true, fmt.Errorf("token endpoint %s: %w", e.where(), err)
	}
	var answer struct {
		AccessToken string `json:"access_token"`
		IDToken     string `json:"id_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	bad := json.Unmarshal(body, &answer)
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusCreated {
		text := strings.TrimSpace(answer.Error + " " + answer.Description)
		if text != "" {
			text = ": " + text
		}
		again = resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented || resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusRequestTimeout
		return "", again, fmt.Errorf("token endpoint %s answers %s%s", e.where(), resp.Status, text)
	}
	switch {
	case bad != nil:
		return "", false, fmt.Errorf("token endpoint %s does not answer with JSON", e.where())
	case answer.AccessToken != "":
		return strings.TrimSpace(answer.AccessToken), false, nil
	case answer.IDToken != "":
		return strings.TrimSpace(answer.IDToken), false, nil
	}
	return "", false, errors.New("the answer of token endpoint " + e.where() + " has no access_token")
}

// where returns the address without what may be secret in it.
func (e *endpoint) where() string { return e.url.Scheme + "://" + e.url.Host + e.url.Path }

// backoff returns the time to wait after tries failures: least, then twice as long
// each time up to most.
func backoff(least, most time.Duration) func(tries int) time.Duration {
	return func(tries int) time.Duration {
		d := least
		for ; tries > 1 && d < most; tries-- {
			d *= 2
		}
		return min(d, max(most, least))
	}
}
