// A call that failed, as wire/link has it; that file wants a browser.
export class CallError extends Error {
  constructor(readonly code: number | "offline" | "lost" | "timeout", message: string, readonly data?: { retryable?: boolean; retryAfterMs?: number }) {
    super(message);
  }
}
