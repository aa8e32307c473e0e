import { join } from "node:path";
import { execa } from "execa";
import { symlinkSync, writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { describeSkips } from "./report-skips.ts";
import { REPOSITORY, temporaryDirectory } from "./temporary.ts";

test("what was skipped is reported in one line, with the reason, and by file", () => {
  const files = [
    { file: "test/b.test.ts", count: 2 },
    { file: "test/a.test.ts", count: 1 },
  ];
  expect(describeSkips(files, 1000)).toEqual([
    expect.stringMatching(/^SKIPPED 3 tests: this is uid 1000, and they need root/),
    "  test/a.test.ts (1)",
    "  test/b.test.ts (2)",
  ]);
  expect(describeSkips(files, 0)[0]).toMatch(/^SKIPPED 3 tests: this machine lacks/);
  expect(describeSkips([], 1000)).toEqual([]);
});

test("a run prints it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const file = join(directory, "skips.test.ts");
  writeFileSync(
    file,
    'import { test } from "vitest";\ntest("runs", () => {});\ntest.runIf(false)("does not", () => {});\n',
  );
  const reporter = join(REPOSITORY, "test/harness/report-skips.ts");
  const config = `import { SkipReporter } from ${JSON.stringify(reporter)};
    export default { test: { reporters: [new SkipReporter()] } };`;
  writeFileSync(join(directory, "vitest.config.ts"), config);
  // Where packages are found from there.
  symlinkSync(join(REPOSITORY, "node_modules"), join(directory, "node_modules"));
  const program = join(REPOSITORY, "node_modules/vitest/vitest.mjs");
  const { stdout } = await execa(process.execPath, [program, "run", "--root", directory]);
  expect(stdout).toMatch(/^SKIPPED 1 tests: .*\n {2}skips\.test\.ts \(1\)$/m);
});
