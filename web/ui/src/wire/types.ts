// What comes over the wire, as far as the page reads it. The app-server may send more members; they are kept.

export type Right = "view" | "answer" | "control" | "admin";
export type Profile = "desktop-continuous" | "web-remote-replayable";
export type AppServerState = "starting" | "migrating" | "ready" | "restarting" | "failed";

export interface AppServer {
  state: AppServerState;
  generation: number;
  detail?: string;
}

export interface Hello {
  protocolVersion: number;
  hubVersion: string;
  instance: { id: string; name: string };
  connectionId: string;
  epoch: string;
  serverTime: number;
  clientMode: Profile;
  deliveryProfile: "continuous" | "replayable";
  principal: { name: string; device?: string; rights: Right[]; sessions?: string[]; workspaces?: string[]; profiles?: Profile[]; expiresAt?: string; deviceExpiresAt?: string };
  appServer: AppServer;
  limits: { maxMessageBytes: number; framesPerSecond?: number; frameBurst?: number };
  capabilities: { page?: string; [name: string]: unknown };
}

export interface Person {
  name: string;
  device?: string;
}

// ---- a conversation's state without its rows

export type Phase = "draft" | "prewarming" | "running" | "completedSuccess" | "completedInterrupted" | "error";
export type Allowed = { allowed: true } | { allowed: false; reasonCode: string };

export interface ActiveWork {
  kind: string;
  foregroundExecutionId?: string;
  sourceCommandId?: string;
  startedAt: number;
}

export interface LastError {
  code: string;
  message: string;
  recoverable: boolean;
  at: number;
  source: string;
  detail?: string;
  underlyingErrorMessage?: string;
  underlyingErrorDetail?: string;
}

export interface Control {
  phase: Phase;
  sessionEnded: boolean;
  canStop: boolean;
  stopState: "idle" | "stoppable" | "stopping";
  stopTargetKind: string;
  activeWorks: ActiveWork[];
  lastError: LastError | null;
  apiRetry: { attempt: number; maxAttempts: number; nextRetryAt: number; reasonCode: string } | null;
}

export interface InputRouting {
  mode: "startNow" | "enqueue" | "guide" | "reject" | "choice";
  reasonCode?: string;
}

export interface ModelSelection {
  providerId: string;
  modelId: string;
  options?: { reasoningLevel?: string };
}

export interface Config {
  modelSelection?: ModelSelection;
  provider: string;
  model: string;
  thought: string;
  thoughtLevels: string[];
  followupMode: "queue" | "guide";
  mode: string;
  planEnabled?: boolean;
  [more: string]: unknown;
}

export interface Usage {
  contextWindow: {
    usedTokens: number;
    maxTokens: number;
    autoCompactThresholdTokens: number | null;
    cache?: Record<string, number>;
    breakdown?: { source: string; chars: number }[];
  } | null;
  cumulative: { inputTokens: number; outputTokens: number; cacheReadTokens: number; cacheWriteTokens: number };
}

export interface Attachment {
  ref: string;
  fileName: string;
  mime: string;
  bytes: number;
  previewRef?: string;
}

export interface QueueItem {
  sourceCommandId: string;
  queueItemId: string;
  clientId: string;
  kind: "sendText" | "sendGoalCommand" | "compact";
  text: string;
  attachments: Attachment[];
  delivery: { requested: string; admitted: string; fallbackReasonCode?: string };
  order: { admissionSeq: number; queuePosition?: number };
  steer: { state: "notRequested" | "steering" | "fellBack"; reasonCode?: string };
  dispatch: { state: "queued" | "reserved" | "promoting"; reservationId?: string };
  admittedAt: number;
  [more: string]: unknown;
}

export interface Queue {
  items: QueueItem[];
  autoDrain: boolean;
  pauseReason?: "stopped" | "manual" | "error";
}

export interface InteractionOption {
  optionId: string;
  label: string;
  kind: "allowOnce" | "allowAlways" | "deny" | "custom";
  description?: string;
  response?: unknown;
}

export interface Question {
  question: string;
  header?: string;
  options: { value: string; label: string; description?: string; preview?: string }[];
  multiSelect?: boolean;
}

export interface PermissionPayload {
  kind: "permission";
  toolCallId: string;
  toolName: string;
  summary: string;
  detail: unknown;
  freeText: boolean;
  origin?: unknown;
  display?: unknown;
  fullAccessOption?: InteractionOption;
  options: InteractionOption[];
}

export interface UserInputPayload {
  kind: "userInput";
  prompt: string;
  freeText: boolean;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  schema?: Record<string, unknown>;
  questions?: Question[];
  options?: InteractionOption[];
  sensitive?: boolean;
  currentQuestionIndex?: number;
  answerDrafts?: unknown;
  origin?: unknown;
}

export interface AutoResolution {
  state: "hiddenGrace" | "visibleCountdown" | "snoozed";
  startedAt: number;
  visibleAt?: number;
  deadlineAt?: number;
  snoozedAt?: number;
}

export interface PendingInteraction {
  interactionId: string;
  kind: "permission" | "userInput" | "workspaceHookReview";
  anchorRowId: number | null;
  createdAt: number;
  autoResolution?: AutoResolution;
  payload: PermissionPayload | UserInputPayload | { kind: "workspaceHookReview"; [more: string]: unknown };
}

export interface PendingCommand {
  commandId: string;
  clientId: string;
  type: string;
  state: string;
  at: number;
}

export interface BackgroundWork {
  workId: string;
  kind: "bash" | "subagent" | "workflow";
  title: string;
  status: "running" | "resultPending" | "failed" | "cancelled";
  startedAt: number;
  endedAt?: number;
  cancellable?: boolean;
  blocked?: boolean;
  anchorRowId: number | null;
  childSessionId?: string;
}

export interface Plan {
  items: { id: string; content: string; status: "pending" | "inProgress" | "completed" }[];
  updatedAt: number;
}

export interface Goal {
  targetId: string;
  objective: string;
  summaryTitle?: string;
  timeUsedSeconds?: number;
  activeRunStartedAtMs?: number;
  status: "active" | "verifying" | "verified" | "notSatisfied" | "paused" | "failed";
  iteration: number;
  verifications: unknown[];
  iterations: unknown[];
}

export interface Head {
  protocolVersion: number;
  sessionId: string;
  logEpoch: string;
  seq: number;
  revision: number;
  control: Control;
  availability: Record<"fork" | "compact" | "switchModelConfig" | "setFollowupMode" | "queueEdit" | "sendQueuedNow" | "pauseGoal" | "resumeGoal", Allowed>;
  inputRouting: InputRouting;
  meta: { title: string; titleSource: "default" | "generated" | "custom" };
  config: Config;
  modelTransition: unknown;
  usage: Usage;
  queue: Queue;
  pendingInteractions: PendingInteraction[];
  pendingCommands: PendingCommand[];
  backgroundWorks: BackgroundWork[];
  subagents: { revision: number; childSessionIds: string[]; running: unknown[]; endedTotal: number };
  workflowRuns?: unknown;
  goal: Goal | null;
  plan: Plan | null;
  workspaceHookAdmission: unknown;
  sharedContextImport?: unknown;
}

export interface Snapshot extends Head {
  rows: { window: Row[]; totalCount: number; firstRowId: number | null };
}

// ---- the nine kinds of rows

export interface RowBase {
  rowId: number;
  turnId: string;
  entityId: string;
  productTurnId: string;
  visibility: string;
  createdAt: number;
  createdAtSeq: number;
  actions?: { canFork?: boolean; canEdit?: boolean; canRetry?: boolean; canRewindFiles?: boolean; editDisposition?: "rewind" };
}

export interface TurnHeaderRow extends RowBase {
  kind: "turnHeader";
  origin: "userInput" | "backgroundResult" | "goalContinuation" | "editRerun" | "workflowLaunch";
  executionKind: "agent" | "controlOnly";
  sourceCommandId?: string;
  state: "running" | "completedSuccess" | "completedInterrupted" | "failed";
  startedAt: number;
  endedAt?: number;
  activeMs?: number;
  historyRoundCount?: number;
  outputTokens?: number;
  workSegments?: { segmentId: string; triggerEntityId?: string; startedAt: number; endedAt?: number; activeMs?: number }[];
  originMeta?: unknown;
  fileChanges?: { state: "active" | "reverted"; [more: string]: unknown };
}

export interface UserInputRow extends RowBase {
  kind: "userInput";
  text: string;
  origin: "realUser" | "backgroundResult" | "goalContinuation" | "mailbox" | "synthetic" | "workflowLaunch";
  guided?: true;
  sourceCommandId?: string;
  rootSourceCommandId?: string;
  clientId?: string;
  attachments?: Attachment[];
  epilogueStart?: unknown;
}

export interface AssistantTextRow extends RowBase {
  kind: "assistantText";
  assistantResponseId?: string;
  text: string;
  state: "streaming" | "complete" | "interrupted" | "failed";
  model?: string;
  feedback?: "like" | "dislike" | null;
}

export interface ReasoningRow extends RowBase {
  kind: "reasoning";
  assistantResponseId?: string;
  text: string;
  state: "streaming" | "complete" | "interrupted" | "failed";
  durationMs?: number;
}

export interface ToolOutput {
  text: string;
  display?: unknown;
  truncated?: { totalBytes: number; ref: string };
}

export interface ToolCallRow extends RowBase {
  kind: "toolCall";
  toolCallId: string;
  toolName: string;
  status: "inputStreaming" | "pendingApproval" | "running" | "success" | "error" | "cancelled";
  assistantResponseId?: string;
  inputText: string;
  input?: unknown;
  output?: ToolOutput;
  display?: unknown;
  error?: { code: string; message: string };
  progress?: { bytes: number; previewLine?: string; updatedAt: number };
  outputPreview?: unknown;
  approvalInteractionId?: string;
  backgrounded?: boolean;
  workId?: string;
  startedAt?: number;
  endedAt?: number;
}

export interface ArtifactRow extends RowBase {
  kind: "artifact";
  artifactVersionId: string;
  logicalArtifactKey: string;
  displayName: string;
  artifactType: string;
  mimeType: string;
  sizeBytes: number;
  sha256: string;
  ref: string;
  state: string;
}

export interface SubagentRow extends RowBase {
  kind: "subagent";
  parentToolCallId?: string;
  subagentType: string;
  status: "running" | "success" | "failed" | "cancelled";
  summaryText: string;
  childSessionId?: string;
  [more: string]: unknown;
}

export interface HookInvocationRow extends RowBase {
  kind: "hookInvocation";
  hookInvocationId: string;
  hookEventName: string;
  hookCount: number;
  state: string;
  startedAt: number;
  endedAt?: number;
  durationMs?: number;
  lane: "toolBefore" | "toolAfter" | "assistantWork";
  anchorToolCallId?: string;
  executions: unknown[];
}

export interface TimelineMarkerRow extends RowBase {
  kind: "timelineMarker";
  lane: string;
  sourceCommandId?: string;
  marker: { type: string; [more: string]: unknown };
}

export type Row =
  | TurnHeaderRow | UserInputRow | AssistantTextRow | ReasoningRow | ToolCallRow
  | ArtifactRow | SubagentRow | HookInvocationRow | TimelineMarkerRow;

// ---- frames

export type Delta =
  | { op: "row.appended"; row: Row }
  | { op: "row.upserted"; row: Row }
  | { op: "row.removed"; fromRowId: number }
  | { op: "row.delta"; rowId: number; path: string; append: string }
  | { op: "state.updated"; patch: Partial<Head> };

export interface Frame {
  topic: string;
  subscriptionId: string;
  fromSeq: number;
  toSeq: number;
  sentAt: number;
  payload: { kind: "snapshot"; snapshot: unknown } | { kind: "deltas"; deltas: unknown[] };
}

interface PhysicalHead {
  wireVersion: number;
  deliveryKind: "initial" | "online" | "recovery";
  logicalFrameId: string;
  logicalFrameOrdinal: number;
  topic: string;
  subscriptionId: string;
}

export type PhysicalFrame =
  | (PhysicalHead & { kind: "complete"; frame: Frame })
  | (PhysicalHead & {
      kind: "fragment";
      fragmentIndex: number;
      fragmentCount: number;
      logicalBytes: number;
      checksum: { algorithm: "crc32"; value: string };
      dataBase64: string;
    });

export interface Base {
  logEpoch: string;
  seq: number;
}

export interface SubscribeAck {
  ack: { subscriptionId: string; mode: "snapshot" | "resume"; logEpoch: string };
}

// ---- lists

export interface SessionSummary {
  sessionId: string;
  workspaceId: string;
  parentSessionId?: string | null;
  title: string;
  titleSource?: string;
  phase: Phase;
  sessionEnded: boolean;
  hasBackgroundWork: boolean;
  pendingInteraction?: { interactionId: string; kind: string; toolName?: string };
  pendingInteractionSummary?: { permissionCount: number; userInputCount: number };
  goalStatus?: string;
  lastActivityAt: number;
  lastAssistantPreview?: string;
  lastTerminalQuery?: string;
  createdAt: number;
}

export interface SessionInfo {
  sessionId: string;
  workspace: { workspacePath: string; workspaceKey: string; workspaceIdentity?: string };
  parentSessionId?: string;
  sessionKind: string;
  title: string;
  mode: string;
  status: string;
  createdAt: number;
  updatedAt: number;
  archivedAt?: number;
}

export interface ConfigOption {
  id: string;
  name: string;
  description?: string;
  category?: string;
  type: "select" | "boolean";
  currentValue: string | boolean;
  options?: { value: string; name?: string; label?: string; description?: string }[];
}

export interface SlashCommand {
  name: string;
  description: string;
  inputHint?: string;
  source?: string;
}

export interface WorkspaceConfig {
  configOptions: ConfigOption[];
  slashCommands: SlashCommand[];
}

// ---- commands

export interface Ack<R = unknown> {
  commandId: string;
  status: "accepted" | "rejected" | "stale" | "duplicate" | "noop" | "failed";
  reasonCode?: string;
  message?: string;
  revisionAtDecision?: number;
  result?: R;
}

// ---- what the hub tells of a session

export interface Presence {
  connectionId: string;
  name: string;
  device?: string;
  kind?: string;
  rights?: Right[];
  visible?: boolean;
  since?: number;
}

export interface ControlState {
  sessionId: string;
  mode: "shared" | "lease";
  holder: null | { name: string; device: string; connectionId: string; since: string; takeableAt: string };
}

export interface ActivityEntry {
  n: number;
  at: number;
  kind: "prompt" | "answer" | "stop" | "appServer" | "control";
  by?: Person;
  commandId?: string;
  messageId?: string;
  requestId?: string;
  outcome?: string;
  toolCallId?: string;
  toolName?: string;
  summary?: string;
}

export interface Settled {
  requestId: string;
  sessionId: string;
  outcome: string;
  by?: Person;
  at: number;
}

