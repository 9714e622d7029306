package simulator

import (
	"context"
	"time"
)

// generation is a running workspace/generateText. Guarded by the loop.
type generation struct{ cancel context.CancelFunc }

var generateShape = strict(
	req("workspace", workspaceShape), req("selection", selectionShape), opt("prompt", anyString), opt("messages", listOf(anything, 0, 0)),
	opt("tools", anything), req("querySource", nonEmpty), opt("maxOutputTokens", count), opt("operationId", nonEmpty))

type generateParams struct {
	Selection   modelSelection `json:"selection"`
	Prompt      string         `json:"prompt"`
	OperationID string         `json:"operationId"`
}

// generateDelay is what a short text takes at real pace.
const generateDelay = 400 * time.Millisecond

// generateText answers workspace/generateText. It holds up every later request until it is done or cancelled; the
// prompt "slow DURATION" makes it take that long.
func (s *server) generateText(r *request, p generateParams) (any, *fault) {
	if _, failed := findModel(p.Selection.modelRef); failed != nil {
		return nil, failed
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if p.OperationID != "" {
		s.generating[p.OperationID] = &generation{cancel}
		defer delete(s.generating, p.OperationID)
	}
	if !s.work(ctx, duration(p.Prompt, "slow", generateDelay)) {
		return nil, thrown("AbortError", "Workspace generate operation was cancelled")
	}
	text := "Generated text for: " + clip(p.Prompt, 60)
	return object{"text": text, "selection": p.Selection, "finishReason": "stop",
		"usage": usage{Input: len(p.Prompt) / charsPerToken, Output: len(text) / charsPerToken}.counts()}, nil
}

var cancelGenerateShape = strict(req("operationId", nonEmpty))

func (s *server) cancelGenerate(r *request, p generateParams) (any, *fault) {
	g, running := s.generating[p.OperationID]
	if running {
		g.cancel()
	}
	return object{"operationId": p.OperationID, "cancelled": running}, nil
}
