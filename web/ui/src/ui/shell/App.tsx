import { AskSheet } from "../answer/AskSheet";
import { SessionView } from "../session/SessionView";
import { route } from "./router";

export function App() {
  const at = route.value;
  return (
    <div class="shell">
      <main>{at.page === "session" && <SessionView key={at.sessionId} sessionId={at.sessionId} />}</main>
      <AskSheet />
    </div>
  );
}
