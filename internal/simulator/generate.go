package simulator

import "context"

// generation is a running workspace/generateText. Guarded by the loop.
type generation struct{ cancel context.CancelFunc }
