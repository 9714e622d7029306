// The agent may go on by itself if nobody answers: how long it still waits, and a way to make it wait.

import { useState } from "preact/hooks";
import { useComputed } from "@preact/signals";
import type { Conversation } from "../../state/conversation";
import { snooze, type Ask } from "../../state/asks";
import { t } from "../../i18n";
import { live } from "../../wire/link";
import { second } from "../time";

export function Countdown({ ask, conversation }: { ask: Ask; conversation: Conversation }) {
  const auto = useComputed(() => conversation.head.value?.pendingInteractions.find((p) => p.interactionId === ask.requestId)?.autoResolution).value;
  const [fault, tell] = useState("");
  if (auto?.state === "snoozed") return <p class="answer-note">{t("answer.countdown.stopped")}</p>;
  if (auto?.state !== "visibleCountdown" || auto.deadlineAt === undefined) return null;
  const keepWaiting = () => snooze(ask).then(() => tell(""), (error: Error) => tell(error.message));
  return (
    <p class="answer-countdown">
      <span>{fault || t("answer.countdown", { time: clock(Math.max(0, auto.deadlineAt - second.value)) })}</span>
      {ask.answerable && <button type="button" aria-disabled={!live.value} onClick={keepWaiting}>{t("answer.snooze")}</button>}
    </p>
  );
}

const clock = (ms: number) => `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;
