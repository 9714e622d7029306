package hub

// CheckTopics forces the comparison of every followed topic with the
// app-server's own snapshot, which else happens every ten minutes.
func (h *Hub) CheckTopics() { h.checkTopics() }

// HasTopic tells whether the hub keeps a topic.
func (h *Hub) HasTopic(name string) bool { return h.findTopic(name) != nil }
