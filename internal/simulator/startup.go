package simulator

import (
	"fmt"
	"time"
)

// storageStep is the pause between two start-up frames at real pace; a warm start of the real one takes a few
// milliseconds for each.
const storageStep = 2 * time.Millisecond

// announceStorage writes the start-up frames and reports whether the process goes on to serve requests.
func (s *server) announceStorage() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.opts.Migrations
	phases := []object{{"phase": "checking"}, {"phase": "checking"}, {"phase": "checking"}}
	kind := "none"
	for i := range n {
		kind = "upgrade"
		phases = append(phases, object{"phase": "migrating", "completed": i, "total": n,
			"migration": object{"kind": kind, "executedCount": i, "committedCount": i, "lastAppliedMigrationId": migrationID(i)}})
	}
	if s.opts.StorageFailure != "" {
		phases = append(phases, object{"phase": "failed", "errorCode": s.opts.StorageFailure})
	} else {
		facts := object{"kind": kind, "executedCount": n, "committedCount": n, "lastAppliedMigrationId": migrationID(n)}
		phases = append(phases, object{"phase": "committing"}, object{"phase": "ready", "migration": facts})
	}
	attempt, database := s.ids.uuid(), sha256Hex("simulated:"+s.opts.StateFile)
	started := s.clock.now()
	for i, frame := range phases {
		elapsed := s.clock.now() - started
		if i == 0 {
			elapsed = 0
		} else if !s.work(s.ctx, storageStep) {
			return false
		}
		frame["schemaVersion"], frame["attemptId"], frame["sequence"], frame["databaseId"] = 1, attempt, i+1, database
		frame["databaseKind"], frame["elapsedMs"] = "session", elapsed
		s.notify("startup/storageState", frame)
	}
	if s.opts.StorageFailure != "" {
		s.stop(&ExitError{Code: 1, Reason: "storage failed: " + s.opts.StorageFailure})
		return false
	}
	return true
}

func migrationID(n int) any {
	if n == 0 {
		return nil
	}
	return fmt.Sprintf("%04d_simulated", n)
}

// sampleInterval is how often the real app-server reports its resource use.
const sampleInterval = 60 * time.Second

func (s *server) sampleResources() {
	for s.wait(s.ctx, sampleInterval) {
		s.notify("process/resourceSample", object{"platform": simulatedPlatform, "arch": simulatedArch, "logicalCpuCount": 8,
			"intervalMs": sampleInterval.Milliseconds(), "cpuCores": 0.02, "cpuPercent": 0.2, "rssKb": 64 << 10})
	}
}
