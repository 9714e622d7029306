// Package push brings short messages to devices that have no connection, by Web
// Push (RFC 8030, 8291 and 8292): it keeps the hub's key and the devices'
// subscriptions, and sends with patience. It knows devices and bytes; what is
// said, and to whom, is its user's business.
//
// A [Service] is a store that is open from [Open] to [Service.Close], and a queue
// that is worked off while [Service.Run] runs:
//
//	Send ─> queue ─ due, one at a time for each endpoint ─> push service
//	          └───── again later <── 429, 5xx, no answer ──┤
//	                 subscription removed <── 404, 410 ────┘
//
// Run starts a goroutine for each message under way, 8 at most, and returns after
// the last of them. Nothing else runs.
//
// Push services are strangers that a browser named, so endpoints are not trusted:
// only https, no redirects, and no address but public ones, looked at when the
// connection is made.
package push
