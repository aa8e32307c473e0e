import type { Reporter, TestModule, Vitest } from "vitest/node";

/** Tests of one file that did not run. */
export interface SkippedFile {
  readonly file: string;
  readonly count: number;
}

/**
 * The report of skipped tests: one line, and one for each file; empty where none was skipped.
 *
 * @param uid - of the run: tests that change users, mounts, limits or control groups need root
 */
export function describeSkips(files: readonly SkippedFile[], uid: number): string[] {
  const total = files.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return [];
  const why =
    uid === 0
      ? "this machine lacks what they need: control groups that can be written, a browser, strace, a container engine, or a directory in SVC_COLLECTIONS"
      : `this is uid ${uid}, and they need root, or what this machine lacks; run the tests as root too`;
  const sorted = files.toSorted((left, right) => left.file.localeCompare(right.file));
  return [`SKIPPED ${total} tests: ${why}`, ...sorted.map(({ file, count }) => `  ${file} (${count})`)];
}

/** Prints at the end of a run which tests it skipped, so that a green run does not hide what it did not show. */
export class SkipReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With a pattern it is clear that the other tests do not run.
    if (this.#vitest?.config.testNamePattern !== undefined) return;
    const files = modules.map((module) => ({
      file: module.relativeModuleId,
      count: [...module.children.allTests("skipped")].length,
    }));
    const lines = describeSkips(
      files.filter(({ count }) => count > 0),
      process.getuid?.() ?? 0,
    );
    if (lines.length > 0) this.#vitest?.logger.log(`\n${lines.join("\n")}\n`);
  }
}
