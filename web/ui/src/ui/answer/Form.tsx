// The form of an MCP server. What is typed goes to that server, so it is kept nowhere.

import { useId, useRef } from "preact/hooks";
import type { Ask, Choice, FormProperty } from "../../state/asks";
import { t } from "../../i18n";
import { inert, plain } from "../rows/inert";
import { AnswerButton } from "./AnswerButton";
import { change, draftOf } from "./drafts";

const schemaOf = (ask: Ask) => ask.params.schema?.requestedSchema ?? {};

/** The form element of a question, for its buttons, which stand outside. */
const formId = (ask: Ask) => `form-${ask.id}`;

export function FormBody({ ask }: { ask: Ask }) {
  const { properties = {}, required = [] } = schemaOf(ask);
  return (
    <form id={formId(ask)} class="answer-form" onSubmit={(e) => e.preventDefault()}>
      {ask.params.prompt && <p>{inert(ask.params.prompt)}</p>}
      {Object.entries(properties).map(([key, property]) => <Field key={key} ask={ask} name={key} property={property} required={required.includes(key)} />)}
    </form>
  );
}

function Field({ ask, name, property, required }: { ask: Ask; name: string; property: FormProperty; required: boolean }) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const value = draftOf(ask).value.form?.[name] ?? preset(property);
  const set = (v: string | boolean | string[]) => change(ask, { form: { ...draftOf(ask).peek().form, [name]: v } });
  const secret = isSecretField(ask, property);
  const about = property.description || secret;
  const label = (
    <label for={id}>
      {inert(property.title || name)}
      {required && <span aria-hidden="true"> *</span>}
    </label>
  );
  return (
    <div class="answer-field">
      {property.type !== "boolean" && label}
      {control()}
      {property.type === "boolean" && label}
      {about && (
        <small id={`${id}-about`}>
          {property.description && inert(property.description)}
          {secret && <> {t("answer.form.secret", { server: plain(ask.params.schema?.serverName || t("answer.someServer")) })}</>}
        </small>
      )}
      {secret && (
        <label class="answer-reveal">
          <input type="checkbox" onChange={(e) => input.current && (input.current.type = e.currentTarget.checked ? "text" : "password")} /> {t("answer.form.show")}
        </label>
      )}
    </div>
  );

  function control() {
    const shared = { id, name, required, "aria-describedby": about ? `${id}-about` : undefined };
    const several = property.type === "array" ? property.items?.enum : undefined;
    if (several) {
      return (
        <select {...shared} multiple size={Math.min(6, several.length)} onChange={(e) => set([...e.currentTarget.selectedOptions].map((o) => o.value))}>
          {several.map((v) => <option key={v} value={v} selected={Array.isArray(value) && value.includes(v)}>{plain(v)}</option>)}
        </select>
      );
    }
    if (property.enum) {
      return (
        <select {...shared} value={String(value)} onChange={(e) => set(e.currentTarget.value)}>
          {!required && <option value="">–</option>}
          {property.enum.map((v, i) => <option key={v} value={String(v)}>{plain(String(property.enumNames?.[i] ?? v))}</option>)}
        </select>
      );
    }
    if (property.type === "boolean") {
      return <input {...shared} required={false} type="checkbox" checked={value === true} onChange={(e) => set(e.currentTarget.checked)} />;
    }
    return (
      <input {...shared} ref={input} type={typeOf(ask, property)} step={property.type === "integer" ? 1 : "any"} autocomplete="off"
        min={property.minimum} max={property.maximum} minLength={property.minLength} maxLength={property.maxLength}
        value={String(value)} onInput={(e) => set(e.currentTarget.value)} />
    );
  }
}

function preset({ type, default: given, enum: values }: FormProperty): string | boolean | string[] {
  if (type === "boolean") return given === true;
  if (Array.isArray(given)) return given.map(String);
  if (given !== undefined && given !== null) return String(given);
  return values ? String(values[0]) : "";
}

const isSecretField = (ask: Ask, p: FormProperty) => ask.params.sensitive === true || p.writeOnly === true || p.format === "password";

const types: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

// The types of elements want to know the type of an input beforehand; here the schema says it.
function typeOf(ask: Ask, property: FormProperty): any {
  if (isSecretField(ask, property)) return "password";
  if (property.type === "number" || property.type === "integer") return "number";
  return types[property.format ?? ""] ?? "text";
}

export function FormAnswers({ ask }: { ask: Ask }) {
  const send = (): Choice | null => {
    const form = document.getElementById(formId(ask)) as HTMLFormElement | null;
    if (!form?.reportValidity()) return null;
    return { key: "accept", label: t("answer.form.send"), result: { action: "accept", content: contentOf(ask) } };
  };
  const end = (action: "decline" | "cancel", label: string): Choice => ({ key: action, label, result: { action } });
  return (
    <>
      <div class="answer-pair">
        <AnswerButton ask={ask} name="decline" label={t("answer.form.decline")} tone="no" shortcut="R" choice={() => end("decline", t("answer.form.decline"))} />
        <AnswerButton ask={ask} name="accept" label={t("answer.form.send")} tone="yes" shortcut="A" choice={send} />
      </div>
      <div class="answer-more">
        <AnswerButton ask={ask} name="cancel" label={t("answer.form.cancel")} tone="plain" choice={() => end("cancel", t("answer.form.cancel"))} />
      </div>
    </>
  );
}

// contentOf gives each field the type that the schema wants; empty ones are left out.
function contentOf(ask: Ask): Record<string, unknown> {
  const form = draftOf(ask).peek().form ?? {};
  const content: Record<string, unknown> = {};
  for (const [key, property] of Object.entries(schemaOf(ask).properties ?? {})) {
    const value = form[key] ?? preset(property);
    if (value === "" || (Array.isArray(value) && value.length === 0)) continue;
    if (property.enum) content[key] = property.enum.find((v) => String(v) === value);
    else content[key] = property.type === "number" || property.type === "integer" ? Number(value) : value;
  }
  return content;
}
