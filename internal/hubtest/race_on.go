//go:build race

package hubtest

// Giant is the size of what tests call a giant line. The race detector makes
// every look at every byte of it slow, so it is smaller there.
const Giant = 2 << 20

// Race tells that the race detector is on.
const Race = true
