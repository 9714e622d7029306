declare const BUILD: string; // the id of these sources' contents, put in by build.mjs
declare const SHELL: string[]; // the files that the page needs offline; only in the worker
declare module "*.css";
