package simulator

// task is a command that runs on after its turn. Guarded by the loop.
type task struct {
	id string
}

func (s *server) stopTasks() {}

func (x *session) runsTasks() bool { return false }

func (x *session) backgroundJobs() []object { return []object{} }
