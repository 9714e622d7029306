package acp

// Error codes of JSON-RPC and of ACP.
const (
	codeParse     = -32700
	codeRequest   = -32600 // not a request, or not at this time
	codeNoMethod  = -32601
	codeParams    = -32602
	codeInternal  = -32603
	codeAuth      = -32000 // the token does not cover it
	codeNotFound  = -32002
	codeCancelled = -32800
)
