// A conversation of made-up rows: every kind, every shape of tool, in every state that looks different.

import { computed, signal } from "@preact/signals";
import type { Conversation } from "../../src/state/conversation";
import type { Head, Row } from "../../src/wire/types";

const began = Date.UTC(2026, 5, 1, 9, 30);

export const head = {
  protocolVersion: 1, sessionId: "s", logEpoch: "e", seq: 1, revision: 1,
  control: { phase: "completedSuccess", sessionEnded: true, canStop: false, stopState: "idle", stopTargetKind: "unknown", activeWorks: [], lastError: null, apiRetry: null },
  meta: { title: "Sample", titleSource: "custom" },
  usage: {
    contextWindow: { usedTokens: 152_000, maxTokens: 200_000, autoCompactThresholdTokens: 160_000, breakdown: [{ source: "system_prompt", chars: 9000 }, { source: "messages", chars: 40_000 }] },
    cumulative: { inputTokens: 1_234_567, outputTokens: 45_678, cacheReadTokens: 900_000, cacheWriteTokens: 0 },
  },
  queue: { items: [], autoDrain: true }, pendingInteractions: [], pendingCommands: [],
  backgroundWorks: [{ workId: "w", kind: "bash", title: "make watch", status: "running", startedAt: began, cancellable: true, anchorRowId: 1 }],
  plan: { items: [{ id: "1", content: "Read the code", status: "completed" }, { id: "2", content: "Change the button", status: "inProgress" }, { id: "3", content: "Run the tests", status: "pending" }], updatedAt: began },
  goal: { targetId: "g", objective: "All tests pass on the slow machine too", status: "active", iteration: 2, verifications: [], iterations: [] },
} as unknown as Head;

const answer = `## What I did

I moved the colour into a *variable* and used it in **two** places, see \`button.css\` and [the manual](https://example.org/css) ([bad](javascript:alert(1))).

1. Read the files
2. Changed the rule
   - light
   - dark

- [x] tests
- [ ] release

| file | lines | note |
|:--|--:|:-:|
| button.css | 12 | changed |
| theme.css | 3 | new |

> A quote that goes
> over two lines.

\`\`\`go
// Serve answers one request.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method != "GET" {
		return fmt.Errorf("method %q: %w", r.Method, errMethod)
	}
	return s.page(w, 42)
}
\`\`\`

Text with a turned direction: invoice\u202Efdp.exe, <b>raw HTML</b>, and ![a picture](https://example.org/x.png).`;

let id = 0;
const make = (turnId: string, kind: Row["kind"], more: object): Row =>
  ({ rowId: ++id, turnId, entityId: `e${id}`, productTurnId: turnId, visibility: "visible", createdAt: began, createdAtSeq: id, kind, ...more }) as Row;
const tool = (turnId: string, toolName: string, input: unknown, output: string | undefined, more: object = {}) =>
  make(turnId, "toolCall", {
    toolCallId: `c${id}`, toolName, status: "success", inputText: JSON.stringify(input), input,
    ...(output !== undefined && { output: { text: output } }), startedAt: began, endedAt: began + 3200, ...more,
  });

export const rows: Row[] = [
  make("one", "turnHeader", { origin: "userInput", executionKind: "agent", state: "completedSuccess", startedAt: began, endedAt: began + 184_000, activeMs: 184_000, outputTokens: 5210 }),
  make("one", "userInput", { text: "Make the button blue.\n\nUse a variable, please.", origin: "realUser", actions: { canEdit: true }, attachments: [{ ref: "r", fileName: "screen.png", mime: "image/png", bytes: 2_345_678 }, { ref: "q", fileName: "notes.pdf", mime: "application/pdf", bytes: 34_567 }] }),
  make("one", "reasoning", { text: "The colour is in one place only.\n\nI should *look* first.", state: "complete", durationMs: 4200 }),
  tool("one", "Read", { file_path: "/home/me/project/src/button.css", offset: 1, limit: 40 }, "     1\t.button {\n     2\t  color: red;\n     3\t}\n"),
  tool("one", "Grep", { pattern: "color: red", path: "/home/me/project/src", glob: "*.css" }, "src/button.css:2:  color: red;"),
  tool("one", "Glob", { pattern: "**/*.css" }, "src/button.css\nsrc/theme.css"),
  tool("one", "TodoWrite", { todos: [{ content: "Read", status: "completed" }, { content: "Change", status: "in_progress" }] }, "ok"),
  make("one", "hookInvocation", { hookInvocationId: "h", hookEventName: "PreToolUse", hookCount: 2, state: "success", startedAt: began, durationMs: 120, lane: "toolBefore", executions: [{ command: "lint", exitCode: 0 }] }),
  make("one", "assistantText", { text: "I found it. Now I change it.", state: "complete" }),
  tool("one", "Edit", { file_path: "/home/me/project/src/button.css", old_string: "  color: red;\n  border: 0;", new_string: "  color: var(--button);\n  border: 0;" }, "updated"),
  tool("one", "Write", { file_path: "/home/me/project/src/theme.css", content: ":root {\n  --button: blue;\n}\n" }, "written"),
  tool("one", "Bash", { command: "npm test -- --run", description: "Run the tests" }, "\x1b[32m✓ 12 passed\x1b[0m\n\x1b[31m✗ 1 failed\x1b[0m", { status: "error", error: { code: "tool_error", message: "Exit code 1" } }),
  tool("one", "Bash", { command: "sleep 5 && make watch", run_in_background: true }, "started", { backgrounded: true, workId: "w" }),
  tool("one", "WebFetch", { url: "https://example.org/css", prompt: "How do variables work?" }, "Use `var(--x)`."),
  tool("one", "Task", { description: "Look at the tests", prompt: "Find what **fails**.", subagent_type: "explorer" }, "One test fails."),
  make("one", "subagent", { parentToolCallId: "c", subagentType: "explorer", status: "success", summaryText: "One test fails because the old colour is written into it. It is in button.test.ts, on line 14, and it is easy to change. I did not change it.", childSessionId: "child" }),
  tool("one", "mcp__github__create_issue", { title: "Colour", labels: ["ui"] }, '{"number":12}'),
  tool("one", "AskUserQuestion", { questions: [{ question: "Which blue?" }] }, 'The user answered: "Which blue?"="dark".'),
  tool("one", "ExitPlanMode", { plan: "1. Change\n2. Test" }, "approved"),
  make("one", "artifact", { artifactVersionId: "a", logicalArtifactKey: "a", displayName: "report.html", artifactType: "document", mimeType: "text/html", sizeBytes: 12_345, sha256: "", ref: "a", state: "ready" }),
  make("one", "assistantText", { text: answer, state: "complete", model: "demo-flash", actions: { canFork: true, canRetry: true } }),
  make("one", "timelineMarker", { lane: "conversation", marker: { type: "compact", contextUsedBefore: 180_000, contextUsed: 20_000 } }),
  make("one", "timelineMarker", { lane: "conversation", marker: { type: "modelChange", from: { modelId: "demo-flash" }, to: { modelId: "demo-pro" } } }),
  make("one", "timelineMarker", { lane: "conversation", marker: { type: "forkCreated", childSessionId: "fork" } }),
  make("one", "timelineMarker", { lane: "conversation", marker: { type: "unheard of" } }),
  make("two", "turnHeader", { origin: "backgroundResult", executionKind: "agent", state: "completedInterrupted", startedAt: began, endedAt: began + 9000 }),
  make("two", "userInput", { text: "Also the border.", origin: "realUser", guided: true }),
  tool("two", "Bash", { command: "make" }, undefined, { status: "cancelled" }),
  make("two", "assistantText", { text: "I was about to", state: "interrupted" }),
  make("three", "turnHeader", { origin: "userInput", executionKind: "agent", state: "running", startedAt: began }),
  make("three", "userInput", { text: "Run the tests", origin: "realUser" }),
  make("three", "reasoning", { text: "Which tests does the person mean? Those of the button, I think, since", state: "streaming" }),
  tool("three", "Bash", { command: "npm test" }, undefined, { status: "running", endedAt: undefined, progress: { bytes: 2048, previewLine: "\x1b[32m✓\x1b[0m button", updatedAt: began } }),
  tool("three", "Bash", { command: "rm -rf build && make release", description: "Build anew" }, undefined, { status: "pendingApproval", startedAt: undefined, endedAt: undefined }),
  tool("three", "Bash", undefined, undefined, { status: "inputStreaming", inputText: '{"command":"git log --on', startedAt: undefined, endedAt: undefined }),
  make("three", "assistantText", { text: "Partly **writ", state: "streaming" }),
];

export function conversation(of: Row[] = rows, more: Partial<Head> = {}): Conversation {
  const cells = new Map(of.map((row) => [row.rowId, signal(row)]));
  return {
    id: "s", state: signal("live"), head: signal({ ...head, ...more }), rowIds: signal(of.map((r) => r.rowId)), row: (n) => cells.get(n)!,
    totalCount: signal(of.length), hasOlder: computed(() => false), loadOlder: () => Promise.resolve(), forgetOlder: () => {}, seq: () => 1, reloads: signal(0),
  };
}
