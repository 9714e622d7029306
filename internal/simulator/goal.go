package simulator

// goal is what a session works towards over several turns.
type goal struct {
	ID         string `json:"targetId"`
	Objective  string `json:"objective"`
	Status     string `json:"status"` // active, paused, verified
	Iteration  int    `json:"iteration"`
	CreatedAt  int64  `json:"createdAt"`
	TokensUsed int    `json:"tokensUsed"`
}

const (
	goalActive   = "active"
	goalPaused   = "paused"
	goalVerified = "verified"
)

// orNull is the goal as the member target shows it.
func (g *goal) orNull() any {
	if g == nil {
		return nil
	}
	return object{"targetId": g.ID, "objective": g.Objective, "status": g.Status, "iteration": g.Iteration,
		"verifications": []object{}, "iterations": []object{}}
}

func (g *goal) stats(now int64) object {
	return object{"targetId": g.ID, "timeUsedSeconds": (now - g.CreatedAt) / 1000, "tokensUsed": g.TokensUsed, "iteration": g.Iteration}
}
