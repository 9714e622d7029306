package auth

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// hostileTokens are made by somebody who holds a good token, knows the public key, and, for the last part, even got
// the hub to sign odd claims.
func hostileTokens(t *testing.T, k *Keys) map[string]string {
	t.Helper()
	good, _ := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	part := strings.Split(good, ".")
	header, payload, signature := part[0], part[1], part[2]
	raw, _ := base64.RawURLEncoding.DecodeString(payload)
	kid := k.KeyID()
	public := k.ring.Load().verify[kid]
	_, strange, _ := ed25519.GenerateKey(rand.Reader)

	withKey := func(h string, sign func(text string) []byte) string {
		text := b64(h) + "." + payload
		return text + "." + base64.RawURLEncoding.EncodeToString(sign(text))
	}
	hs256 := func(secret []byte) func(string) []byte {
		return func(text string) []byte {
			m := hmac.New(sha256.New, secret)
			m.Write([]byte(text))
			return m.Sum(nil)
		}
	}
	own := func(text string) []byte { return ed25519.Sign(k.ring.Load().sign, []byte(text)) }
	der, _ := x509.MarshalPKIXPublicKey(public)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	hs := `{"alg":"HS256","kid":"` + kid + `","typ":"JWT"}`

	tokens := map[string]string{
		"empty":                     "",
		"dots":                      "..",
		"one part":                  header,
		"two parts":                 header + "." + payload,
		"four parts":                good + "." + signature,
		"no signature":              header + "." + payload + ".",
		"cut":                       good[:len(good)-1],
		"grown":                     good + "A",
		"padded":                    good + "==",
		"blank in front":            " " + good,
		"newline behind":            good + "\n",
		"return inside":             header + "\r." + payload + "." + signature,
		"second spelling of base64": good[:len(good)-1] + twin(good[len(good)-1]),
		"oversized":                 good + strings.Repeat("A", MaxTokenBytes),
		"oversized header":          strings.Repeat("A", MaxTokenBytes) + "." + payload + "." + signature,
		"signature of zeros":        header + "." + payload + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"short signature":           header + "." + payload + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 63)),
		"more rights":               header + "." + b64(strings.Replace(string(raw), "viewer", "admin", 1)) + "." + signature,
		"payload null":              header + "." + b64("null") + "." + signature,
		"payload array":             header + "." + b64("[]") + "." + signature,
		"payload deep":              header + "." + b64(strings.Repeat("[", 4000)) + "." + signature,
		"alg none":                  b64(`{"alg":"none","kid":"`+kid+`","typ":"JWT"}`) + "." + payload + ".",
		"alg None":                  b64(`{"alg":"None","kid":"`+kid+`","typ":"JWT"}`) + "." + payload + ".",
		"alg none, old signature":   b64(`{"alg":"none","kid":"`+kid+`","typ":"JWT"}`) + "." + payload + "." + signature,
		"alg missing":               b64(`{"kid":"`+kid+`","typ":"JWT"}`) + "." + payload + "." + signature,
		"alg a list":                b64(`{"alg":["EdDSA"],"kid":"`+kid+`","typ":"JWT"}`) + "." + payload + "." + signature,
		"HS256 with the public key": withKey(hs, hs256(public)),
		"HS256 with its PEM":        withKey(hs, hs256(publicPEM)),
		"HS256 with its DER":        withKey(hs, hs256(der)),
		"HS256 with no secret":      withKey(hs, hs256(nil)),
		"a stranger's key":          withKey(`{"alg":"EdDSA","kid":"`+kid+`","typ":"JWT"}`, func(s string) []byte { return ed25519.Sign(strange, []byte(s)) }),
		"kid missing":               withKey(`{"alg":"EdDSA","typ":"JWT"}`, own),
		"kid empty":                 withKey(`{"alg":"EdDSA","kid":"","typ":"JWT"}`, own),
		"kid unknown":               withKey(`{"alg":"EdDSA","kid":"0000000000000000","typ":"JWT"}`, own),
		"kid a path":                withKey(`{"alg":"EdDSA","kid":"../../../dev/null","typ":"JWT"}`, own),
		"kid a number":              withKey(`{"alg":"EdDSA","kid":1,"typ":"JWT"}`, own),
		"kid in capitals":           withKey(`{"alg":"EdDSA","kid":"`+strings.ToUpper(kid)+`x","typ":"JWT"}`, own),
		"typ missing":               withKey(`{"alg":"EdDSA","kid":"`+kid+`"}`, own),
		"crit":                      withKey(`{"alg":"EdDSA","kid":"`+kid+`","typ":"JWT","crit":["exp"]}`, own),
		"own key along":             withKey(`{"alg":"EdDSA","kid":"`+kid+`","typ":"JWT","jwk":{"kty":"OKP"}}`, own),
		"key by URL":                withKey(`{"alg":"EdDSA","kid":"`+kid+`","typ":"JWT","jku":"http://evil.example"}`, own),
		"another hub":               mintElsewhere(t),
	}
	for name, change := range map[string]func(c map[string]any){
		"no exp":            func(c map[string]any) { delete(c, "exp") },
		"exp null":          func(c map[string]any) { c["exp"] = nil },
		"exp zero":          func(c map[string]any) { c["exp"] = 0 },
		"exp negative":      func(c map[string]any) { c["exp"] = -1 },
		"exp past":          func(c map[string]any) { c["exp"] = noon.Add(-time.Hour).Unix() },
		"exp beyond time":   func(c map[string]any) { c["exp"] = math.MaxFloat64 },
		"nbf far":           func(c map[string]any) { c["nbf"] = noon.AddDate(50, 0, 0).Unix() },
		"nbf in a minute":   func(c map[string]any) { c["nbf"] = noon.Add(time.Minute).Unix() },
		"exp in 40 years":   func(c map[string]any) { c["exp"] = noon.AddDate(40, 0, 0).Unix() },
		"iat missing":       func(c map[string]any) { delete(c, "iat") },
		"iat far":           func(c map[string]any) { c["iat"] = noon.AddDate(50, 0, 0).Unix() },
		"iat in a minute":   func(c map[string]any) { c["iat"] = noon.Add(time.Minute).Unix() },
		"iss missing":       func(c map[string]any) { delete(c, "iss") },
		"iss other":         func(c map[string]any) { c["iss"] = "zcode-hub:00000000000000000000000000000000" },
		"aud missing":       func(c map[string]any) { delete(c, "aud") },
		"aud other":         func(c map[string]any) { c["aud"] = "zcode-hub:00000000000000000000000000000000" },
		"aud empty":         func(c map[string]any) { c["aud"] = []string{} },
		"typ missing":       func(c map[string]any) { delete(c, "typ") },
		"typ other":         func(c map[string]any) { c["typ"] = "refresh" },
		"typ a number":      func(c map[string]any) { c["typ"] = 1 },
		"role missing":      func(c map[string]any) { delete(c, "role") },
		"role unknown":      func(c map[string]any) { c["role"] = "root" },
		"role in capitals":  func(c map[string]any) { c["role"] = "ADMIN" },
		"role a list":       func(c map[string]any) { c["role"] = []string{"admin"} },
		"device missing":    func(c map[string]any) { delete(c, "device") },
		"sub missing":       func(c map[string]any) { delete(c, "sub") },
		"jti missing":       func(c map[string]any) { delete(c, "jti") },
		"profiles missing":  func(c map[string]any) { delete(c, "profiles") },
		"profiles empty":    func(c map[string]any) { c["profiles"] = []string{} },
		"profile unknown":   func(c map[string]any) { c["profiles"] = []string{"all"} },
		"sessions empty":    func(c map[string]any) { c["sessions"] = []string{} },
		"session empty":     func(c map[string]any) { c["sessions"] = []string{""} },
		"sessions a string": func(c map[string]any) { c["sessions"] = "s1" },
		"workspaces empty":  func(c map[string]any) { c["workspaces"] = []string{} },
		"workspace no path": func(c map[string]any) { c["workspaces"] = []string{"w"} },
		"scoped admin":      func(c map[string]any) { c["role"] = "admin"; c["sessions"] = []string{"s1"} },
	} {
		tokens["signed: "+name] = sign(t, k, func(c, _ map[string]any) { change(c) })
	}
	return tokens
}

// twin is a base64 digit that decodes to the same bytes at the end of a 64-byte signature for careless decoders.
func twin(c byte) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(digits[strings.IndexByte(digits, c)^1])
}

func mintElsewhere(t *testing.T) string {
	token, _ := mint(t, newKeys(t), Grant{Name: "a", Role: RoleAdmin})
	return token
}

func TestEveryHostileTokenGetsTheSameAnswer(t *testing.T) {
	k := newKeys(t)
	for name, token := range hostileTokens(t, k) {
		p, err := k.Verify(token, noon)
		if err == nil || p != nil {
			t.Errorf("%s: accepted as %+v", name, p)
			continue
		}
		if !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() {
			t.Errorf("%s: answer %q, want the constant one", name, err)
		}
		cause := Cause(err)
		if cause == "" || cause == err.Error() || len(cause) > maxCause+len("…") {
			t.Errorf("%s: cause for the log: %q", name, cause)
		}
		if len(token) > 40 && strings.Contains(cause, token[:40]) {
			t.Errorf("%s: the cause quotes the token", name)
		}
	}
}

func TestTokenSignedLikeOursIsGood(t *testing.T) {
	// Without this the table above could pass for the wrong reason.
	k := newKeys(t)
	if _, err := k.Verify(sign(t, k, func(_, _ map[string]any) {}), noon); err != nil {
		t.Errorf("Verify: %s", Cause(err))
	}
}

func TestFlippedBitAnywhereIsRefused(t *testing.T) {
	k := newKeys(t)
	good, _ := mint(t, k, Grant{Name: "a", Role: RoleViewer})
	for i := range len(good) {
		forged := []byte(good)
		forged[i] ^= 1 << (i % 7)
		if p, err := k.Verify(string(forged), noon); err == nil {
			t.Fatalf("byte %d bit %d: accepted as %+v", i, i%7, p)
		}
	}
}

func TestNoErrorOfMintOrLoadHoldsAKey(t *testing.T) {
	k := newKeys(t)
	_, _, err := k.Mint(Grant{Name: strings.Repeat("n", 1000), Role: "r"}, noon)
	if err == nil || len(err.Error()) > 2*maxCause {
		t.Errorf("Mint repeats what it was given: %v", err)
	}
}

func TestHostileRequestsDoNotPassTheEdge(t *testing.T) {
	e := newEdge(t, EdgeConfig{Listen: "127.0.0.1:8377", Instance: "0123456789abcdef"})
	cookie := "hub-session-01234567=" + "t"
	tests := map[string]func(r *http.Request){
		"rebound name": func(r *http.Request) {
			r.Host = "rebind.evil.example:8377"
			r.Header.Set("Origin", "http://rebind.evil.example:8377")
		},
		"forwarded host does not count": func(r *http.Request) {
			r.Host = "rebind.evil.example:8377"
			r.Header.Set("X-Forwarded-Host", "localhost")
			r.Header.Set("Forwarded", "host=localhost")
		},
		"page on another port, with the cookie that browsers send along": func(r *http.Request) {
			r.Header.Set("Origin", "http://localhost:3000")
			r.Header.Set("Cookie", cookie)
		},
		"page elsewhere with a bearer": func(r *http.Request) {
			r.Header.Set("Origin", "https://evil.example")
			r.Header.Set("Authorization", "Bearer abc")
		},
		"sandboxed frame": func(r *http.Request) { r.Header.Set("Origin", "null"); r.Header.Set("Cookie", cookie) },
		"form post without Origin": func(r *http.Request) {
			r.Method = "POST"
			r.Header.Set("Cookie", cookie)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		},
		"old browser, cookie, no Origin": func(r *http.Request) { r.Header.Set("Cookie", cookie) },
	}
	for name, change := range tests {
		r := originRequest{method: "GET", host: "localhost:8377", origin: "-"}.build()
		change(r)
		if err := errors.Join(e.CheckHost(r), e.CheckOrigin(r)); err == nil {
			t.Errorf("%s: let in", name)
		}
	}
}

func FuzzVerify(f *testing.F) {
	k, err := LoadKeys(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	good, _, err := k.Mint(Grant{Name: "a", Role: RoleViewer}, noon)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-2])
	f.Add("..")
	f.Add(b64(`{"alg":"none"}`) + "." + b64(`{"exp":1e400}`) + ".")
	f.Add(b64(`{"alg":"EdDSA","kid":"`+k.KeyID()+`","typ":"JWT"}`) + "." + b64(`{"aud":[1]}`) + ".AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := k.Verify(token, noon)
		if token == good {
			if err != nil {
				t.Fatalf("good token refused: %s", Cause(err))
			}
			return
		}
		if err == nil {
			t.Fatalf("forged token accepted as %+v", p)
		}
		if !errors.Is(err, ErrBadToken) || err.Error() != ErrBadToken.Error() || len(Cause(err)) > maxCause+len("…") {
			t.Fatalf("answer %q, cause %q", err, Cause(err))
		}
		_, _ = Inspect(token)
	})
}

// FuzzClaims has the hub's own key sign any payload: whatever passes must be a principal that Mint could have made.
func FuzzClaims(f *testing.F) {
	k, err := LoadKeys(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	good, _, _ := k.Mint(Grant{Name: "a", Role: RoleOperator, Sessions: []string{"s1"}}, noon)
	payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(good, ".")[1])
	f.Add(string(payload))
	f.Add(strings.Replace(string(payload), `"s1"`, "", 1))
	f.Add(strings.Replace(string(payload), `"sessions":["s1"]`, `"sessions":null`, 1))
	f.Add(`{"exp":-1e308}`)
	f.Add("null")
	head := b64(`{"alg":"EdDSA","kid":"`+k.KeyID()+`","typ":"JWT"}`) + "."
	f.Fuzz(func(t *testing.T, payload string) {
		text := head + b64(payload)
		signature, _ := jwt.SigningMethodEdDSA.Sign(text, k.ring.Load().sign)
		p, err := k.Verify(text+"."+base64.RawURLEncoding.EncodeToString(signature), noon)
		if err != nil {
			return
		}
		if p.Rights == 0 || p.Name == "" || p.Device == "" || p.TokenID == "" || len(p.Profiles) == 0 || p.Local ||
			p.ExpiresAt.IsZero() || p.Sessions != nil && len(p.Sessions) == 0 || p.Workspaces != nil && len(p.Workspaces) == 0 {
			t.Fatalf("accepted %q as %+v", payload, p)
		}
	})
}

func FuzzHost(f *testing.F) {
	for _, s := range []string{"localhost", "localhost:80", "[::1]:8377", "127.0.0.1", "evil.example:1", "[::ffff:127.0.0.1]", "a@b:1", "0x7f.1", "", "localhost.:1"} {
		f.Add(s)
	}
	e, err := NewEdge(EdgeConfig{Hosts: []string{"box.lan"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := parseHost(s)
		if err != nil {
			if e.CheckHost(&http.Request{Host: s}) == nil {
				t.Fatalf("Host %q: not parsed, yet accepted", s)
			}
			return
		}
		if strings.ContainsAny(s, " /\\@?#%,\x00\r\n\t") || (h.name == "") == !h.addr.IsValid() {
			t.Fatalf("Host %q: parsed as %+v", s, h)
		}
		key := h.key()
		if strings.Contains(key, ":") {
			key = "[" + key + "]"
		}
		if again, err := parseHost(key); err != nil || again.key() != h.key() {
			t.Fatalf("Host %q: key %q parses as %+v, %v", s, h.key(), again, err)
		}
		accepted := e.CheckHost(&http.Request{Host: s}) == nil
		if want := h.addr.IsLoopback() || h.name == "localhost" || strings.HasSuffix(h.name, ".localhost") || h.name == "box.lan"; accepted != want {
			t.Fatalf("Host %q: accepted %v, want %v", s, accepted, want)
		}
	})
}

func FuzzOrigin(f *testing.F) {
	for _, s := range []string{"http://localhost:8377", "https://localhost:8377", "null", "http://[::1]", "http://localhost:8377/", "tauri://localhost", "HTTP://LOCALHOST:8377"} {
		f.Add(s)
	}
	e, err := NewEdge(EdgeConfig{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := originRequest{method: "GET", host: "localhost:8377"}.build()
		r.Header["Origin"] = []string{s}
		if e.CheckOrigin(r) != nil {
			return
		}
		switch strings.ToLower(s) {
		case "http://localhost:8377", "https://localhost:8377", "http://localhost.:8377", "https://localhost.:8377":
		default:
			t.Fatalf("Origin %q: accepted as the page of localhost:8377", s)
		}
	})
}
