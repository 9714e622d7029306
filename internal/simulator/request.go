package simulator

// maxQueuedRequests bounds the bytes of requests that wait for the serial worker. The real app-server has no bound; a
// client that runs into this one is out of control, and its request is refused.
const maxQueuedRequests = 512 << 20

// request is one inbound request on its way to its handler.
type request struct {
	message
	size    int
	started chan struct{} // closed when a worker takes the request
	behind  <-chan struct{}
	after   []func() // run right after the response was written
}

// then has f run after the response is written and before anything else happens.
func (r *request) then(f func()) { r.after = append(r.after, f) }

// requestQueue is a list of requests with one worker. Guarded by the loop.
type requestQueue struct {
	waiting []*request
	bytes   int
	refused int
	last    *request
	wake    chan struct{} // one slot
}

func newRequestQueue() requestQueue { return requestQueue{wake: make(chan struct{}, 1)} }

func (q *requestQueue) push(r *request) bool {
	if q.bytes+r.size > maxQueuedRequests {
		q.refused++
		return false
	}
	q.waiting, q.bytes, q.last = append(q.waiting, r), q.bytes+r.size, r
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

func (q *requestQueue) pop() *request {
	if len(q.waiting) == 0 {
		return nil
	}
	r := q.waiting[0]
	q.waiting[0] = nil
	q.waiting, q.bytes = q.waiting[1:], q.bytes-r.size
	return r
}

// admit queues a request. Everything runs strictly one after the other, except what must be able to interrupt a
// running request: that only waits until the request queued last has started.
func (s *server) admit(m message, size int) {
	r := &request{message: m, size: size, started: make(chan struct{})}
	q := &s.serial
	if bypasses(m.method) {
		q = &s.bypass
		if s.serial.last != nil {
			r.behind = s.serial.last.started
		}
	}
	s.begin()
	if !q.push(r) {
		s.write(errorMessage{thrown("Error", "Too many requests are queued"), r.id})
		s.end()
	}
}

func bypasses(method string) bool {
	return method == "session/stop" || method == "workspace/cancelGenerateText"
}

// serve is the worker of a queue. It returns when the process stops.
func (s *server) serve(q *requestQueue) {
	for s.ctx.Err() == nil {
		r := q.pop()
		if r == nil {
			s.yield(func() {
				select {
				case <-q.wake:
				case <-s.ctx.Done():
				}
			})
			continue
		}
		if r.behind != nil {
			s.yield(func() {
				select {
				case <-r.behind:
				case <-s.ctx.Done():
				}
			})
		}
		close(r.started)
		s.handle(r)
		s.end()
		if s.out.full() {
			s.yield(s.out.waitRoom)
		}
	}
}

// handle runs one request to completion and writes its response.
func (s *server) handle(r *request) {
	h, ok := methods[r.method]
	if !ok {
		s.write(errorMessage{methodNotFound(r.method), r.id})
		return
	}
	result, failed := h(s, r)
	if failed != nil {
		s.write(errorMessage{failed, r.id})
	} else {
		s.write(responseMessage{r.id, result})
	}
	for _, f := range r.after {
		f()
	}
	s.sweep()
}
