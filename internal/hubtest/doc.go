// Package hubtest helps to test the hub with real parts: named clients in
// memory that speak and listen as a connection would, and app-servers that run
// as processes of their own.
//
// An app-server is the test binary, started again: [Main] belongs in TestMain
// and plays the role that the environment names. There are two. A [Simulator]
// is the built-in simulated app-server, with a record of what it was sent. A
// [Script] does nothing by itself: the test reads each line that the hub wrote
// and prints what it likes.
//
// Helpers named want… wait until what they name is there, for [Patience] at
// most, and fail the test if it is not.
package hubtest

import "time"

// Patience is how long a want… helper waits: far longer than anything takes on
// a busy machine, so that running out means that it never comes.
const Patience = time.Minute
