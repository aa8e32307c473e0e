import { defineConfig } from "vitest/config";
import { SkipReporter } from "./test/harness/report-skips.ts";

/**
 * Tests that start whole daemons, browsers or linters and wait for turns, shells and time limits, replay what is larger than
 * memory, or try every fixture or rule in every way: `npm run check` stays below two minutes without them.
 */
const DAEMON_TESTS = [
  "test/turnd/daemon/turns/**/*.test.ts",
  "test/turnd/daemon/terminal/**/*.test.ts",
  "test/turnd/inspector/**/page*.test.ts",
  "test/turnd/daemon/doctor/**/*.test.ts",
  "test/turnd/client/**/*.test.ts",
  "test/turnd/commands/client/**/*.test.ts",
  "test/packages/**/*.test.ts",
  "test/turnd/daemon/files/removals.test.ts",
  "test/turnd/daemon/executors/changed-fields.test.ts",
  "test/turnd/daemon/executors/changed-lines.test.ts",
  "test/turnd/daemon/executors/long-texts.test.ts",
  "test/turnd/daemon/replay/documents.test.ts",
  "test/turnd/daemon/replay/flat.test.ts",
  "test/turnd/daemon/replay/command-stops.test.ts",
  "test/turnd/commands/completion.test.ts",
  "test/turnd/daemon/http/browser.test.ts",
  "test/turnd/daemon/openapi/lint.test.ts",
  "test/turnd/loading/**/*.test.ts",
  "test/scripts/own-user.test.ts",
  "test/scripts/read-only.test.ts",
  "test/lab/soak.test.ts",
];

/** Tests that start the programs that read documents. */
const PARSER_TESTS = ["test/service/knowledge/parse/**/*.test.ts"];

const MEMORY = { setup: "test/harness/provide-memory.ts", use: "test/harness/use-memory.ts" };

/**
 * `fast` runs in memory and with small processes, and is what `npm run check` runs; `daemon` starts whole daemons with fake
 * CLIs; `service` runs the agent service on PGlite and on a PostgreSQL of its own; `parser`
 * starts the programs that read documents; `real` starts the real CLIs, a gigabyte and
 * seconds each; `image` builds and starts the sandbox image, where a container engine answers.
 */
export default defineConfig({
  test: {
    pool: "forks",
    reporters: [
      "default",
      ...(process.env["GITHUB_ACTIONS"] === undefined ? [] : ["github-actions"]),
      new SkipReporter(),
    ],
    // One more than cores: daemons and services wait for clocks and leases more than they work.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/e2e/**",
            "test/image/**",
            "test/service/**/*.db.test.ts",
            "**/node_modules/**",
            ...DAEMON_TESTS,
            ...PARSER_TESTS,
          ],
          globalSetup: [MEMORY.setup, "test/harness/provide-turnd.ts"],
          setupFiles: [MEMORY.use],
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "daemon",
          include: DAEMON_TESTS,
          globalSetup: [MEMORY.setup, "test/harness/provide-turnd.ts"],
          setupFiles: [MEMORY.use],
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "service",
          include: ["test/service/**/*.db.test.ts"],
          globalSetup: [MEMORY.setup, "test/harness/provide-turnd.ts", "test/service/harness/provide-databases.ts"],
          setupFiles: [MEMORY.use],
          testTimeout: 90_000,
          hookTimeout: 90_000,
        },
      },
      {
        extends: true,
        test: {
          name: "parser",
          include: PARSER_TESTS,
          globalSetup: [MEMORY.setup],
          setupFiles: [MEMORY.use],
          testTimeout: 180_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: "real",
          // Beside the image's tests, which wait for containers more than they work.
          sequence: { groupOrder: 1 },
          include: ["test/e2e/**/*.test.ts"],
          globalSetup: ["test/harness/provide-turnd.ts", "test/harness/provide-clis.ts"],
          // A turn of CLI A 1.18.33 takes 5 s of two idle cores, and 50 s where much else runs.
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
      {
        extends: true,
        test: {
          name: "image",
          include: ["test/image/**/*.test.ts"],
          globalSetup: ["test/harness/provide-image.ts"],
          setupFiles: ["test/harness/await-image.ts"],
          // The image is built beside what is in no group.
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
