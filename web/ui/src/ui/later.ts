// What is not on the first screen, in one piece: each piece more would be one request more for the first screen, for what
// the two share.
export { SessionView } from "./session/SessionView";
export { Settings } from "./settings/Settings";
export { New } from "./sessions/New";
