package hub

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"zcodehub/auth"
	"zcodehub/session"
)

// A Pusher reaches devices that have no connection. Its methods never block.
type Pusher interface {
	// Holders are the devices that want to be told, with what each may do now.
	Holders(now time.Time) []*auth.Principal
	// Send brings a message to a device; payload makes it in a language, which may
	// be empty. A later one of the same tag takes its place.
	Send(device, tag string, payload func(language string) []byte)
	// Withdraw takes back what was not sent yet, and tells whether none can have
	// arrived.
	Withdraw(device, tag string) (none bool)
}

const (
	// awayAfter is how long nobody looks before a device is told of what waits: a
	// page that is loaded anew, or a glance at another tab, is nobody gone.
	awayAfter = 3 * time.Second
	// maxTold bounds the questions that one device was told of and that are still
	// open: more than a lock screen shows.
	maxTold = 32
	// maxTitle bounds the name of a session in a notification, in bytes.
	maxTitle = 120
)

// notices are what devices were told of and is not settled yet, and the tokens
// that went along.
type notices struct {
	mu      sync.Mutex                        // a leaf
	told    map[string]map[string][]actionKey // by interaction id and device: its tokens
	ofEach  map[string]int                    // by device
	actions map[actionKey]*action
}

// An actionKey is the hash of a token: the tokens themselves are kept nowhere.
type actionKey [sha256.Size]byte

// An action is what one token stands for.
type action struct {
	device, sessionID, requestID, interactionID string

	decision string // allow or deny
	result   []byte // for the agent
}

func newNotices() *notices {
	return &notices{told: map[string]map[string][]actionKey{}, ofEach: map[string]int{}, actions: map[actionKey]*action{}}
}

// looking are the devices on any connection of which somebody sees what waits in
// a session, and may answer it.
func (h *Hub) looking(s *session.Session) map[string]bool {
	devices := map[string]bool{}
	for _, c := range h.allClients() {
		if p := c.who(); c.looks() && p.Rights.Has(auth.Answer) && c.sees(s) && !c.narrowed(s) {
			devices[p.Device] = true
		}
	}
	return devices
}

// tellAway tells of an open question all devices that want to know, may answer
// it, and on which nobody looks.
func (h *Hub) tellAway(s *session.Session, in *session.Interaction) {
	h.tellHolders(s, in, func(*auth.Principal) bool { return true })
}

func (h *Hub) tellHolders(s *session.Session, in *session.Interaction, wanted func(*auth.Principal) bool) {
	if h.opts.Push == nil {
		return
	}
	var due []*auth.Principal
	looking := h.looking(s)
	for _, p := range h.opts.Push.Holders(time.Now()) {
		if p.Rights.Has(auth.Answer) && wanted(p) && !looking[p.Device] && !h.notices.knows(in.ID, p.Device) {
			due = append(due, p)
		}
	}
	if len(due) == 0 {
		return
	}
	h.findSession(s.ID, func(title, workspace string) {
		looking := h.looking(s)
		for _, p := range due {
			if p.SeesSession(s.ID, workspace) && isOpen(s, in) && !looking[p.Device] {
				h.tell(s, in, p.Device, session.OneLine(title, maxTitle))
			}
		}
	})
}

// lookedAway is told that a client of a device stopped looking. If nobody looks
// there soon after, the device is told of what still waits.
func (h *Hub) lookedAway(device string) {
	if h.opts.Push == nil {
		return
	}
	h.time.after(awayAfter, func() {
		for _, s := range h.sessions.All() {
			for _, in := range s.Ledger.Open() {
				h.tellHolders(s, in, func(p *auth.Principal) bool { return p.Device == device })
			}
		}
	})
}

// An askPayload tells a device of a question. It holds no more than the device
// would be shown, and the push service cannot read it.
type askPayload struct {
	Kind      string    `json:"kind"` // ask
	SessionID string    `json:"sessionId"`
	RequestID string    `json:"requestId"`
	Title     string    `json:"title"`
	Body      string    `json:"body"`
	AskKind   string    `json:"askKind"` // permission, userInput, plan
	ToolName  string    `json:"toolName,omitempty"`
	OpenedAt  time.Time `json:"openedAt"`
	Language  string    `json:"language,omitempty"`
	Allow     string    `json:"allow,omitempty"`
	Deny      string    `json:"deny,omitempty"`
}

// A settledPayload tells that a question of which the device was told is over.
type settledPayload struct {
	Kind      string `json:"kind"` // settled
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Outcome   string `json:"outcome,omitempty"`
	By        string `json:"by,omitempty"`
	Language  string `json:"language,omitempty"`
}

// tell tells one device of one question.
func (h *Hub) tell(s *session.Session, in *session.Interaction, device, title string) {
	p := askPayload{Kind: "ask", SessionID: s.ID, RequestID: session.Cut(in.RequestID, maxName), Title: cmp.Or(title, h.opts.InstanceName),
		Body: in.Summary, AskKind: string(in.Kind), ToolName: session.OneLine(in.ToolName, maxTitle), OpenedAt: in.OpenedAt}
	if p.ToolName != "" && in.Kind == session.Permission {
		p.Body = p.ToolName + ": " + p.Body
	}
	var ok bool
	if p.Allow, p.Deny, ok = h.notices.enter(in, device); !ok {
		return
	}
	h.opts.Push.Send(device, in.ID, func(language string) []byte {
		p := p
		p.Language = language
		return jsonOf(p)
	})
	h.log.Info("a device was told of a question", "session", s.ID, "requestId", in.RequestID, "device", device)
	if !isOpen(s, in) { // it was answered in between, and perhaps settled before it stood in the notices
		h.untell(in, session.Settlement{RequestID: in.RequestID, SessionID: s.ID})
	}
}

func (n *notices) knows(interactionID, device string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, told := n.told[interactionID][device]
	return told
}

// enter notes that a device is told, and makes the tokens that go along, as far
// as a plain yes or no is an answer. It is false if the device was told already,
// or of too many.
func (n *notices) enter(in *session.Interaction, device string) (allow, deny string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, told := n.told[in.ID][device]; told || n.ofEach[device] >= maxTold {
		return "", "", false
	}
	var keys []actionKey
	token := func(decision string, yes bool) string {
		result, ok := in.PlainAnswer(yes)
		if !ok {
			return ""
		}
		text := rand.Text() // 130 bits
		key := actionKey(sha256.Sum256([]byte(text)))
		n.actions[key] = &action{device: device, sessionID: in.SessionID, requestID: in.RequestID, interactionID: in.ID, decision: decision, result: result}
		keys = append(keys, key)
		return text
	}
	if allow, deny = token("allow", true), token("deny", false); allow == "" && deny != "" {
		n.endLocked(keys)
		keys, deny = nil, "" // one button alone is no choice
	}
	if n.told[in.ID] == nil {
		n.told[in.ID] = map[string][]actionKey{}
	}
	n.told[in.ID][device] = keys
	n.ofEach[device]++
	return allow, deny, true
}

func (n *notices) endLocked(keys []actionKey) {
	for _, key := range keys {
		delete(n.actions, key)
	}
}

// leave ends the tokens of an interaction, and returns the devices that were
// told of it.
func (n *notices) leave(interactionID string) (devices []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for device, keys := range n.told[interactionID] {
		n.endLocked(keys)
		n.countDownLocked(device)
		devices = append(devices, device)
	}
	delete(n.told, interactionID)
	return devices
}

func (n *notices) countDownLocked(device string) {
	if n.ofEach[device]--; n.ofEach[device] == 0 {
		delete(n.ofEach, device)
	}
}

// forget ends everything of a device.
func (n *notices) forget(device string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for interaction, devices := range n.told {
		n.endLocked(devices[device])
		if delete(devices, device); len(devices) == 0 {
			delete(n.told, interaction)
		}
	}
	delete(n.ofEach, device)
}

// untell tells the devices that were told of a question that it is over.
func (h *Hub) untell(in *session.Interaction, st session.Settlement) {
	if h.opts.Push == nil {
		return
	}
	for _, device := range h.notices.leave(in.ID) {
		if h.opts.Push.Withdraw(device, in.ID) {
			continue
		}
		h.opts.Push.Send(device, in.ID, func(language string) []byte {
			return jsonOf(settledPayload{Kind: "settled", SessionID: st.SessionID, RequestID: session.Cut(st.RequestID, maxName), Outcome: st.Outcome,
				By: st.By.Name, Language: language})
		})
	}
}

// ErrBadAction is returned for a token that is not, or no longer, one.
var ErrBadAction = errors.New("the action token is unknown, spent, over or not for this decision")

// Acted is what became of an answer by token.
type Acted struct {
	Status    string          `json:"status"` // as in hub/answer
	Reason    string          `json:"reason,omitempty"`
	DecidedBy *session.Author `json:"decidedBy,omitempty"`
	DecidedAt *time.Time      `json:"decidedAt,omitempty"`
}

// Act answers a question by a token that a device was sent: it is good once, for
// the decision it was made for, while the question is open and the device may
// answer it. done is called when the app-server was sent the answer, unless an
// error is returned.
func (h *Hub) Act(token, decision string, done func(Acted)) error {
	a := h.notices.spend(actionKey(sha256.Sum256([]byte(token))), decision)
	if a == nil {
		return ErrBadAction
	}
	var by *auth.Principal
	for _, p := range h.opts.Push.Holders(time.Now()) {
		if p.Device == a.device && p.Rights.Has(auth.Answer) {
			by = p
		}
	}
	s := h.sessions.Get([]byte(a.sessionID))
	if by == nil || s == nil || !by.SeesSession(s.ID, s.Workspace()) {
		return ErrBadAction
	}
	if in, _ := s.Ledger.Lookup(a.requestID); in == nil || in.ID != a.interactionID {
		return ErrBadAction
	}
	// Answering is all that the token stands for, whatever else the device may do.
	v := s.Ledger.Answer(a.requestID, session.Author{Name: by.Name, Device: by.Device}, auth.View|auth.Answer, a.result, false, time.Now())
	h.metrics.answers.WithLabelValues(v.Status).Inc()
	h.log.Info("answered by an action token", "session", s.ID, "requestId", a.requestID, "device", by.Device, "status", v.Status)
	if v.Status != session.Accepted {
		done(actedOf(v))
		return nil
	}
	h.decided(s, v, func(v session.Verdict) { done(actedOf(v)) })
	return nil
}

func actedOf(v session.Verdict) Acted {
	a := Acted{Status: v.Status, Reason: v.Reason}
	if v.Status == session.Accepted || v.Status == session.Late {
		a.DecidedBy, a.DecidedAt = &v.By, &v.At
	}
	return a
}

// spend ends a token and the other one of the same notice; nil if it is not good
// for the decision.
func (n *notices) spend(key actionKey, decision string) *action {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.actions[key]
	if a == nil || a.decision != decision {
		return nil
	}
	told := n.told[a.interactionID]
	n.endLocked(told[a.device])
	told[a.device] = nil
	return a
}
