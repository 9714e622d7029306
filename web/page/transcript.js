// One session on the screen: a snapshot, then events folded into it. Text only ever becomes text nodes.

const MAX_MESSAGES = 200; // of a snapshot; older ones are history that this plain page does not page through
const MAX_OUTPUT = 4000; // characters of a tool's input or output

// One word for each state of a tool, whatever snapshots and events call it; other words stay as they come.
const WORDS = { pending: "preparing", completed: "done", error: "failed", allow: "allowed", deny: "denied" };
const OVER = ["done", "failed", "denied", "interrupted"];

export function element(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}

export function pretty(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "";
  return text.length > MAX_OUTPUT ? `${text.slice(0, MAX_OUTPUT)}\n… ${text.length - MAX_OUTPUT} more characters` : text;
}

// toolInput is what a person has to see of a tool's input before saying yes: all of it, a command first.
export function toolInput(input) {
  if (typeof input?.command !== "string") return typeof input === "string" ? input : JSON.stringify(input, null, 2) ?? "";
  const { command, ...rest } = input;
  return Object.keys(rest).length ? `${command}\n\n${JSON.stringify(rest, null, 2)}` : command;
}

export class Transcript {
  constructor(root, changed) {
    this.root = root;
    this.changed = changed; // called when title or busy may have changed
    this.reset();
  }

  reset() {
    this.root.replaceChildren();
    this.messages = new Map(); // messageId -> element
    this.parts = new Map(); // partId -> text element
    this.tools = new Map(); // toolCallId -> {box, head, input, output, name}
    this.busy = false;
    this.title = "";
  }

  snapshot(s) {
    this.reset();
    this.title = s.session?.title || "";
    this.busy = ["running", "waiting"].includes(s.projection?.status) || Boolean(s.runtime?.activeTurnId);
    const messages = s.messages || [];
    if (messages.length > MAX_MESSAGES) this.note(`${messages.length - MAX_MESSAGES} earlier messages are not shown`);
    for (const message of messages.slice(-MAX_MESSAGES)) this.stored(message);
    for (const call of s.projection?.activeToolCalls || []) this.tool(call.toolCallId, { name: call.toolName, status: call.status });
    if (!this.busy) this.endTurn();
    this.changed();
    this.scroll(true);
  }

  stored({ info = {}, parts = [] }) {
    if (info.synthetic || info.visibility === "model-only") return;
    const box = this.message(info.messageId, info.role);
    for (const part of parts) {
      if (part.type === "text" || part.type === "reasoning") this.text(info.messageId, part.type, part.partId, part.text || "");
      if (part.type === "file") box.append(element("p", { className: "note", textContent: `file ${part.filename || part.mime || ""}` }));
      if (part.type !== "tool") continue;
      const state = part.state || {};
      this.tool(part.callId ?? part.callID, { name: part.tool, input: state.input, output: state.output ?? state.error, status: state.error === "Denied" ? "denied" : state.status }, box);
    }
    if (info.error) this.note(info.error.message || "failed", "failed", box);
  }

  event({ type, payload: p = {}, turnId }) {
    const follow = this.atEnd();
    switch (type) {
      case "session.titleUpdated": this.title = p.title; break;
      case "session.closed": this.note("the session was closed"); this.endTurn(); break;
      case "turn.started":
        this.busy = true;
        if (p.inputVisibility !== "model-only") this.user(p.messageId || turnId, p.input);
        break;
      case "turn.steerQueued": this.note(`queued: ${p.inputPreview ?? p.input ?? ""}`); break;
      case "turn.completed":
        this.endTurn();
        if (p.resultType && p.resultType !== "success") this.note(`turn ended: ${p.resultType.replaceAll("_", " ")}`);
        break;
      case "turn.failed": this.endTurn(); this.note(p.error?.message || "the turn failed", "failed"); break;
      case "model.streaming": this.streaming(p); break;
      case "tool.updated": this.toolUpdated(p); break;
      case "permission.requested": this.tool(p.toolCallId, { name: p.toolName, status: "waiting for approval" }); break;
      case "permission.resolved": this.tool(p.toolCallId, { name: p.toolName, status: p.decision || "" }); break;
      case "part.delta": if (this.parts.has(p.partId)) this.parts.get(p.partId).append(p.delta); break;
    }
    this.changed();
    this.scroll(follow);
  }

  streaming(p) {
    const id = p.assistantMessageId;
    if (p.kind === "text_delta") this.text(id, "text", p.partId, p.delta);
    else if (p.kind === "reasoning_delta") this.text(id, "reasoning", p.partId, p.delta);
    else if (p.kind === "tool_input_start") this.tool(p.toolCallId, { name: p.toolName, status: "preparing" }, this.message(id, "assistant"));
    else if (p.kind === "tool_call") this.tool(p.toolCallId, { name: p.toolName, input: p.input, status: "preparing" }, this.message(id, "assistant"));
  }

  toolUpdated(p) {
    if (p.kind === "batch") this.endTools("denied", p.toolCallIds); // a call that was not allowed has no end of its own
    const change = { name: p.toolName };
    if (p.kind === "scheduled") Object.assign(change, { status: "scheduled", input: p.inputOmitted || p.input?.inputOmitted ? undefined : p.input });
    else if (p.kind === "started") change.status = "running";
    else if (p.kind === "progress") change.output = p.outputPreview ?? p.stdoutTail;
    else if (p.kind === "result") Object.assign(change, { status: p.result?.success ? "done" : "failed", output: p.result?.content || p.result?.error });
    else if (p.kind === "error") Object.assign(change, { status: "failed", output: p.error?.message ?? p.error });
    else return;
    this.tool(p.toolCallId, change, p.assistantMessageId && this.message(p.assistantMessageId, "assistant"));
  }

  message(id, role) {
    let box = this.messages.get(id);
    if (!box) {
      box = element("section", { className: `message ${role}` }, element("small", { textContent: role === "user" ? "prompt" : "agent" }));
      this.root.append(box);
      if (id) this.messages.set(id, box);
    }
    return box;
  }

  user(id, text) {
    if (!this.messages.has(id)) this.message(id, "user").append(element("p", { textContent: text ?? "" }));
  }

  // text appends to the part it belongs to: the one named, or the last one of the message if that is of the same kind.
  text(messageId, kind, partId, text) {
    const box = this.message(messageId, "assistant");
    let part = this.parts.get(partId);
    if (!part && box.lastElementChild?.dataset.kind === kind) part = box.lastElementChild;
    if (!part) {
      part = element("p", { className: kind });
      part.dataset.kind = kind;
      box.append(part);
    }
    if (partId) this.parts.set(partId, part);
    part.append(text ?? "");
  }

  tool(id, change, box) {
    let tool = this.tools.get(id);
    if (!tool) {
      tool = { head: element("summary"), input: element("pre", { hidden: true }), output: element("pre", { hidden: true }), name: "tool", status: "" };
      (box || this.root).append(element("details", { className: "tool" }, tool.head, tool.input, tool.output));
      if (id) this.tools.set(id, tool);
    }
    tool.name = change.name || tool.name;
    const status = WORDS[change.status] || change.status;
    if (status && !(tool.status === "denied" && status === "failed")) tool.status = status;
    tool.head.textContent = `${tool.name} – ${tool.status}`;
    for (const side of ["input", "output"]) {
      if (change[side] == null || change[side] === "") continue;
      tool[side].textContent = pretty(change[side]);
      tool[side].hidden = false;
    }
  }

  note(text, kind = "note", box = this.root) {
    box.append(element("section", { className: "message" }, element("p", { className: kind, textContent: text })));
  }

  // endTurn: nothing runs in a turn that is over.
  endTurn() {
    this.busy = false;
    this.endTools("interrupted", [...this.tools.keys()]);
  }

  endTools(status, ids = []) {
    for (const id of ids) if (this.tools.has(id) && !OVER.includes(this.tools.get(id).status)) this.tool(id, { status });
  }

  // settled keeps one line of a question that is over.
  settled(text) {
    const follow = this.atEnd();
    this.root.append(element("section", { className: "card settled" }, element("p", { className: "fate", textContent: text })));
    this.scroll(follow);
  }

  // interrupted: the app-server ended, and with it the turn; a snapshot follows once the session is back.
  interrupted() {
    if (this.busy) this.note("the turn was interrupted: the app-server restarts", "failed");
    this.endTurn();
    this.changed();
  }

  atEnd() {
    return this.root.scrollHeight - this.root.scrollTop - this.root.clientHeight < 80;
  }

  scroll(wanted) {
    if (wanted) this.root.scrollTop = this.root.scrollHeight;
  }
}
