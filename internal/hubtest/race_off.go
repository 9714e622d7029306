//go:build !race

package hubtest

// Giant is the size of what tests call a giant line.
const Giant = 20 << 20

// Race tells that the race detector is on.
const Race = false
