import type { Conversation } from "../../state/conversation";

export function Composer({ conversation }: { conversation: Conversation }) {
  return <form aria-label={conversation.id} />;
}
