import type { Texts } from "..";
import { answer } from "./answer";
import { compose } from "./compose";
import { rows } from "./rows";
import { shell } from "./shell";
import { together } from "./together";

export const zh: Texts = { ...shell, ...rows, ...answer, ...compose, ...together };
