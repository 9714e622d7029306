import type { Conversation } from "../../state/conversation";

// Who else is here, and who steers.
export function Together({ conversation }: { conversation: Conversation }) {
  return <p aria-label={conversation.id} />;
}
