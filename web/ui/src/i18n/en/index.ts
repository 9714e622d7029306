import { answer } from "./answer";
import { compose } from "./compose";
import { rows } from "./rows";
import { shell } from "./shell";
import { together } from "./together";

export const en = { ...shell, ...rows, ...answer, ...compose, ...together };
export type Key = keyof typeof en;
