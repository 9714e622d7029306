// Package conversation holds what the hub knows about V4 topics: how frames are
// put together, what they say, and how they are told on.
//
//	v4/conversation/frame ─> Assembler ─> Frame ─┬─> State (the snapshot, kept by folding)
//	                                             └─> AppendFrame ─> fanout.Stream ─> lanes
//	                                                      Replayable lane: NewReplayable
//	                                                      resume: Merge, of what the stream kept
//	                                                      too large for a reader: Messages
//
// A topic is a conversation, the list of a workspace's sessions, or a workspace's
// settings; for each there is a State. What is not understood is carried as the
// bytes that came, or refused with an error after which the caller fetches a
// snapshot. Text is never decoded: an appended piece is spliced into the string
// it belongs to, so that escapes stay as they were.
//
// Nothing here starts a goroutine, takes a lock, reads a clock or does I/O. A
// value belongs to one goroutine at a time; a []byte that comes out must not be
// written to.
package conversation
