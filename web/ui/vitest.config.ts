import { defineConfig } from "vitest/config";

export default defineConfig({
  define: { BUILD: JSON.stringify("test") },
  oxc: { jsx: { importSource: "preact" } },
  test: { include: ["test/**/*.test.ts", "test/**/*.test.tsx"], setupFiles: ["test/browser.ts"] },
});
