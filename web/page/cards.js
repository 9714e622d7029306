// The questions of the agent, in a sheet that never leaves the screen. A card stays until the hub says that its question
// is settled; then one line says what became of it.

import { element, toolInput } from "./transcript.js";

const SHORT = 60; // characters of a command that still fit on two lines of a phone
const TOLD = 10_000; // ms that the fate of a question in another session stays: long enough to read
const $ = (id) => document.getElementById(id);
let fields = 0; // for ids of form fields

export class Cards {
  // on: {answer(id, result), false when it could not be sent; sessionName(sessionId), for people; settled(sessionId, text),
  // false when that session is not on the screen}
  constructor(on) {
    this.on = on;
    this.open = new Map(); // requestId -> card
  }

  // show takes a request of the agent, or hub/interaction (id undefined) for those who may only look. A question that is
  // shown again after a reconnect is open again, whatever was sent before.
  show(id, params) {
    const old = this.open.get(params.requestId);
    if (old && old.id === id && !old.sent) return;
    const card = { id, params, sent: false };
    const title = element("h3", { id: `card-${++fields}`, textContent: titleOf(params) });
    card.where = element("p");
    card.fate = element("p", { className: "fate", textContent: id === undefined ? "You may look, but not answer." : "" });
    card.fate.setAttribute("role", "status");
    card.form = element("form", { onsubmit: (e) => e.preventDefault() }, ...this.body(card));
    card.box = element("section", { className: "card" }, title, card.where, card.form, card.fate);
    card.box.setAttribute("aria-labelledby", title.id);
    if (old) old.box.replaceWith(card.box);
    else $("cards").append(card.box);
    this.open.set(params.requestId, card);
    this.rename();
    this.count();
    if (old) return;
    $("waiting").open = true;
    $("spoken").textContent = `${$("waiting-count").textContent}: ${title.textContent}`; // the sheet was hidden, and hidden parts are not read out
  }

  // rename is for when the names of sessions may have changed.
  rename() {
    for (const { where, params } of this.open.values()) where.textContent = this.on.sessionName(params.sessionId);
  }

  waitsFor(sessionId) {
    return [...this.open.values()].some((card) => card.params.sessionId === sessionId);
  }

  body(card) {
    const p = card.params;
    if (p.options) return this.permission(card);
    if (isPlan(p)) return this.plan(card);
    if (p.schema?.requestedSchema) return this.elicitation(card);
    return this.questions(card);
  }

  permission(card) {
    const p = card.params;
    const feedback = field("Reason, if you deny (the agent reads it)");
    const button = (option) => this.button(card, option.name || option.optionId, () => {
      const reason = feedback.input.value.trim();
      return option.kind === "deny" && reason ? { ...option.response, reason } : option.response;
    }, option);
    const now = ["allow_once", "deny"].flatMap((kind) => p.options.filter((o) => o.kind === kind));
    const lasting = p.options.filter((o) => !now.includes(o));
    const more = element("details", {}, element("summary", { textContent: lasting.length ? "Deny with a reason, or allow for longer" : "Deny with a reason" }),
      feedback.label, row(lasting.map(button)));
    const about = [`risk: ${p.riskLevel || "unknown"}`, p.reason, p.origin && `asked by ${p.origin.agentType || "a subagent"}`];
    return [element("p", { textContent: about.filter(Boolean).join(" · ") }), element("pre", { textContent: toolInput(p.input), tabIndex: 0 }),
      ...answerable(card, row(now.map(button)), more)];
  }

  plan(card) {
    const p = card.params;
    const question = p.questions?.[0];
    const answers = (value) => ({ action: "accept", content: question ? { answers: { [question.question]: value } } : { answer: value } });
    const feedback = field("What should change");
    const options = question?.options?.length ? question.options : [{ value: "approve", label: "Approve" }];
    const buttons = options.map((o) => this.button(card, o.label || o.value, () => answers(o.value), { kind: "answer", description: o.description }));
    buttons.push(this.button(card, "Send back", () => ({ action: "decline", ...reasonOf(feedback.input) })));
    return [element("pre", { textContent: toolInput(p.input?.plan ?? p.input), tabIndex: 0 }), ...answerable(card, row(buttons), feedback.label)];
  }

  questions(card) {
    const p = card.params;
    const readers = [];
    const sets = (p.questions || []).map((q) => {
      const set = element("fieldset", {}, element("legend", { textContent: q.question }));
      const name = `question-${++fields}`;
      const choices = (q.options || []).map((o) => {
        const input = element("input", { type: q.multiSelect ? "checkbox" : "radio", name, value: o.value ?? o.label });
        set.append(element("label", { className: "choice" }, input, ` ${o.label}`, o.description ? element("small", { textContent: ` – ${o.description}` }) : ""));
        return input;
      });
      const other = field(choices.length ? "Something else" : "Answer");
      set.append(other.label);
      readers.push(() => {
        const picked = choices.filter((c) => c.checked).map((c) => c.value);
        const own = other.input.value.trim();
        if (own) q.multiSelect ? picked.push(own) : picked.splice(0, 1, own);
        return picked.length ? [q.question, q.multiSelect ? picked : picked[0]] : null;
      });
      return set;
    });
    const free = sets.length ? null : field("Answer");
    const accept = () => {
      const answers = readers.map((read) => read());
      if (free ? !free.input.value.trim() : answers.includes(null)) {
        card.fate.textContent = answers.some(Boolean) ? "A question has no answer yet." : "Choose or write an answer first, or decline.";
        card.fate.scrollIntoView({ block: "nearest" });
        return null;
      }
      return { action: "accept", content: free ? { answer: free.input.value } : { answers: Object.fromEntries(answers) } };
    };
    const buttons = [this.button(card, "Answer", accept, { kind: "answer" }), this.button(card, "Decline", () => ({ action: "decline" }))];
    return answerable(card, ...sets, free?.label ?? "", row(buttons));
  }

  // elicitation is the form of an MCP server: a flat JSON schema.
  elicitation(card) {
    const { serverName, requestedSchema } = card.params.schema;
    const inputs = Object.entries(requestedSchema.properties || {}).map(([key, property]) => {
      const f = field(property.title || key, property);
      if (property.type !== "boolean") f.input.required = Boolean(requestedSchema.required?.includes(key));
      return { key, property, ...f };
    });
    const accept = () => {
      if (!card.form.reportValidity()) return null;
      const content = {};
      for (const { key, property, input } of inputs) {
        if (property.type === "boolean") content[key] = input.checked;
        else if (input.value !== "") content[key] = ["number", "integer"].includes(property.type) ? Number(input.value) : input.value;
      }
      return { action: "accept", content };
    };
    const buttons = [this.button(card, "Send", accept, { kind: "answer" }), this.button(card, "Decline", () => ({ action: "decline" })), this.button(card, "Cancel", () => ({ action: "cancel" }))];
    return [element("p", { textContent: `${serverName || "A server"} asks.` }), ...answerable(card, ...inputs.map((i) => i.label), row(buttons))];
  }

  // button sends result(), unless that is null; what lasts longer than this once, it asks once more.
  button(card, text, result, { kind = "", description: title = "" } = {}) {
    const className = { allow_once: "yes", answer: "yes", deny: "no" }[kind] || "";
    return element("button", { type: "button", className, textContent: text, title, onclick: () => {
      if (kind && !className && !confirm(`${text}: ${subject(card.params)}\n\nThe agent will not ask again for what this covers.`)) return;
      const answer = result();
      if (answer) this.send(card, answer);
    } });
  }

  send(card, result) {
    if (!this.on.answer(card.id, result)) {
      card.fate.textContent = "Not sent: there is no connection. Try again when it is back.";
      return;
    }
    card.sent = true;
    card.fate.textContent = "Sent, not confirmed yet …";
    this.enable(card, false);
  }

  enable(card, on) {
    for (const control of card.form.elements) control.disabled = !on;
  }

  // answered is hub/answer: what became of this page's own answer.
  answered({ id, status, reason, decidedBy, decidedAt }) {
    const [requestId, card] = [...this.open].find(([, c]) => c.id === id) || [];
    if (!card) return;
    if (status === "accepted") {
      card.fate.textContent = "Accepted.";
    } else if (status === "late") {
      this.finish(requestId, `${nameOf(decidedBy)} answered first${at(decidedAt)}`);
    } else if (status === "invalid") {
      card.sent = false;
      card.fate.textContent = `Not accepted: ${reason || "the answer does not fit"}.`;
      this.enable(card, true);
    } else {
      this.finish(requestId, reason || "no longer open");
    }
  }

  settled({ requestId, outcome, by, at: when }) {
    this.finish(requestId, `${words(outcome)} by ${nameOf(by)}${at(when)}`);
  }

  finish(requestId, fate) {
    const card = this.open.get(requestId);
    if (!card) return;
    this.open.delete(requestId);
    const focus = document.activeElement, orphan = card.box.contains(focus) || (card.sent && focus === document.body);
    card.box.remove();
    if (orphan) $(this.open.size ? "waiting-count" : "log").focus({ preventScroll: true });
    const { sessionId } = card.params, line = `${subject(card.params)}: ${fate}`;
    if (!this.on.settled(sessionId, line)) this.tell(`${this.on.sessionName(sessionId)}: ${line}`);
    this.count();
  }

  tell(text) {
    $("elsewhere").textContent = text;
    if (text) $("spoken").textContent = text;
    clearTimeout(this.told);
    if (text) this.told = setTimeout(() => this.tell(""), TOLD);
    this.count();
  }

  // keep drops cards whose questions were settled while this page was away.
  keep(requestIds) {
    for (const requestId of [...this.open.keys()]) {
      if (!requestIds.has(requestId)) this.finish(requestId, "settled while this page was disconnected");
    }
  }

  clear() {
    this.open.clear();
    $("cards").replaceChildren();
    this.tell("");
  }

  count() {
    const n = this.open.size;
    document.title = n ? `(${n}) hub` : "hub";
    $("waiting-count").textContent = n === 1 ? "1 question waits" : `${n || "No"} ${n ? "questions wait" : "question waits"}`;
    $("waiting").hidden = !n && !$("elsewhere").textContent;
  }
}

const isPlan = (p) => p.schema?.interaction === "plan_approval";
const titleOf = (p) => (isPlan(p) ? "Approve this plan?" : p.options ? `Allow ${p.toolName || "this"}?` : p.prompt || "A question");

// subject names in one line what a question is about.
function subject(p) {
  if (isPlan(p)) return "Plan";
  const text = p.options ? toolInput(p.input?.command ?? p.input?.file_path ?? p.input) : p.questions?.[0]?.question || p.prompt || "Question";
  const line = text.replace(/\s+/g, " ");
  return `${p.options ? `${p.toolName || "Tool"} ` : ""}${line.length > SHORT ? `${line.slice(0, SHORT)}…` : line}`;
}

const answerable = (card, ...nodes) => (card.id === undefined ? [] : nodes);
const row = (buttons) => element("div", { className: "buttons" }, ...buttons);
const nameOf = (by) => (typeof by === "string" ? by : by?.name) || "somebody";
const words = (outcome = "settled") => outcome.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
const at = (time) => (time ? ` at ${new Date(time).toLocaleTimeString()}` : "");
const reasonOf = (input) => (input.value.trim() ? { reason: input.value.trim() } : {});

function field(text, property = {}) {
  const id = `field-${++fields}`;
  const kind = { boolean: "checkbox", number: "number", integer: "number" }[property.type] || "text";
  const input = property.enum
    ? element("select", { id }, ...property.enum.map((value) => element("option", { value, textContent: value })))
    : element("input", { id, type: kind, step: property.type === "integer" ? "1" : "any" });
  if (property.default !== undefined) kind === "checkbox" ? (input.checked = property.default) : (input.value = property.default);
  return { input, label: element("label", { htmlFor: id }, text, property.description ? element("small", { textContent: ` – ${property.description}` }) : "", input) };
}
