import type { Conversation } from "../../state/conversation";

export function Transcript({ conversation }: { conversation: Conversation }) {
  return (
    <ol>
      {conversation.rowIds.value.map((id) => (
        <li key={id}>{conversation.row(id).value.kind}</li>
      ))}
    </ol>
  );
}
