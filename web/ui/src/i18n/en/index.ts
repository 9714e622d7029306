import { answer } from "./answer";
import { compose } from "./compose";
import { rows } from "./rows";
import { shell } from "./shell";

export const en = { ...shell, ...rows, ...answer, ...compose };
export type Key = keyof typeof en;
