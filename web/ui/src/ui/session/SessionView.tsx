import { useEffect, useMemo } from "preact/hooks";
import { follow, unfollow } from "../../state/conversation";
import { Composer } from "../compose/Composer";
import { Together } from "../together/Together";
import { Transcript } from "../rows/Transcript";

// One session: title, transcript, composer.
export function SessionView({ sessionId }: { sessionId: string }) {
  const conversation = useMemo(() => follow(sessionId), [sessionId]);
  useEffect(() => () => unfollow(sessionId), [sessionId]);
  return (
    <article class="session">
      <header class="session-head">
        <h2>{conversation.head.value?.meta.title}</h2>
        <Together conversation={conversation} />
      </header>
      <Transcript conversation={conversation} />
      <Composer conversation={conversation} />
    </article>
  );
}
