// Reason codes and fates in words.

import { t } from "../../i18n";
import { en, type Key } from "../../i18n/en";
import type { Fate } from "../../state/commands";
import { second } from "../time";

const reasons: Record<string, Key> = {
  "-32004": "compose.why.noSession",
  "-32040": "compose.why.forbidden",
  "-32041": "compose.why.heldBySomebody",
  "-32042": "compose.why.tooMuch",
  "-32043": "compose.why.appServer",
  "-32044": "compose.why.timeout",
  "-32045": "compose.why.tooLarge",
  "-32046": "compose.why.closing",
  otherDevice: "compose.why.otherDevice",
  tooOld: "compose.why.tooOld",
  "proto.invalidPayload": "compose.why.invalid",
  "proto.missingBaseRevision": "compose.why.stale",
  "proto.staleRevision": "compose.why.stale",
  "proto.staleLogEpoch": "compose.why.stale",
  "proto.staleTarget": "compose.why.stale",
  "proto.sessionNotFound": "compose.why.noSession",
  "proto.payloadTooLarge": "compose.why.tooLarge",
  "fault.command.executionFailed": "compose.why.failed",
  "fault.command.queuePromotionCommitFailed": "compose.why.failed",
  "fault.command.notImplemented": "compose.why.notImplemented",
  "fault.command.capabilityUnsupported": "compose.why.notImplemented",
  "fault.command.inputRejected": "compose.why.invalid",
  "guard.actionUnavailable": "compose.why.notNow",
  "guard.subagentReadOnly": "compose.why.readOnly",
  "guard.queueItemReserved": "compose.why.itemReserved",
  "guard.queuePromotionBusy": "compose.why.itemReserved",
  "guard.queueItemNotEditable": "compose.why.itemFixed",
  "guard.compactOperationLock": "compose.why.compacting",
  compactOperationLock: "compose.why.compacting",
  compactingAcceptsFutureInput: "compose.why.compacting",
  goalVerifierAcceptsFutureInput: "compose.why.verifying",
  "guard.idleCannotCompact": "compose.why.nothingToCompact",
  idleCannotCompact: "compose.why.nothingToCompact",
  "guard.stopTargetChanged": "compose.why.stopTarget",
  "config.unchanged": "compose.why.unchanged",
  "queue.itemMissing": "compose.why.itemGone",
  "provider.notInRegistry": "compose.why.noModel",
  activePrompt: "compose.why.busy",
  emptyObjective: "compose.why.noObjective",
  heldQueueInputRequiresChoice: "compose.why.heldQueue",
  "guard.heldQueueInputRequiresChoice": "compose.why.heldQueue",
  sendQueuedNowRequiresRunning: "compose.why.needsRunning",
  noGoalToPause: "compose.why.noGoal",
  noGoalToResume: "compose.why.noGoal",
  goalNotActive: "compose.why.goalState",
  goalNotPaused: "compose.why.goalState",
  turnEnded: "compose.why.guideEnded",
};

const maxMessage = 300; // characters: as much as may stand beside a button

// reason puts a code into words; the agent's own sentence, if there is one, says more than a code that is not known here.
export function reason(code: string, message?: string): string {
  const key = reasons[code];
  if (key) return t(key);
  return message?.slice(0, maxMessage) || t("compose.why.other", { code });
}

// refusal says why a command was refused, and by whom if a person is in the way.
export const refusal = (fate: Fate & { kind: "refused" }): string =>
  fate.code === "-32041" && fate.by ? t("compose.why.held", { who: fate.by }) : reason(fate.code, fate.message);

export const isHeldQueue = (code: string) => reasons[code] === "compose.why.heldQueue";

// fateText says what became of a command, and why.
export function fateText(fate: Fate): string {
  switch (fate.kind) {
    case "unsent":
    case "sending":
    case "asking":
    case "cancelled":
      return t(`compose.fate.${fate.kind}`);
    case "waiting":
      return t("compose.fate.waiting", { reason: reason(fate.code), s: Math.max(0, Math.ceil((fate.until - second.value) / 1000)) });
    case "accepted":
      return t(fate.delivery === "guide" ? "compose.fate.guided" : "compose.fate.accepted");
    case "queued":
      return t("compose.fate.queued");
    case "noop":
      return reason(fate.code);
    case "stale":
      return `${t("compose.fate.stale")} ${reason(fate.code)}`;
    case "refused":
      return fate.code === "otherDevice" || fate.code === "tooOld" ? refusal(fate) : `${t("compose.fate.refused")} ${refusal(fate)}`;
  }
}

// modeName names a mode of the agent; one that is not known here keeps its own name.
export function modeName(mode: string): string {
  const key = `compose.mode.${mode}`;
  return key in en ? t(key as Key) : mode;
}

export function modeHint(mode: string): string {
  const key = `compose.mode.${mode}.hint`;
  return key in en ? t(key as Key) : "";
}

const uploadFaults: Record<string, Key> = {
  tooLarge: "compose.file.tooLarge",
  empty: "compose.file.empty",
  insecure: "compose.file.insecure",
  stagingBudgetExceeded: "compose.file.full",
  tooManyUploads: "compose.file.full",
  checksumMismatch: "compose.file.broken",
  uploadIncomplete: "compose.file.broken",
};

export const uploadFault = (code: string) =>
  uploadFaults[code] ? t(uploadFaults[code]) : reasons[code] ? reason(code) : t("compose.file.failed", { code });
