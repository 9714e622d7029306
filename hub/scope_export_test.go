package hub

// Methods are those of the table that says what a method needs, and whether a
// token that is limited may call it at all.
func Methods() map[string]bool {
	all := map[string]bool{}
	for method, rule := range rules {
		all[method] = rule.scoped != scopeRefused
	}
	return all
}
