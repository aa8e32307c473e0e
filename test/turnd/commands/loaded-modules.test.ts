import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startDaemon } from "../../harness/daemon.ts";
import { fakeEnv } from "../../harness/fake-env.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

/** Each costs milliseconds of a start and memory: docs/performance.md. */
const LATE = ["assert", "http2", "https", "internal/util/colors", "tls", "zlib"];

test("a turnd that has served nothing but its health has not loaded the large modules of Node", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const [report, listed] = [join(directory, "report.mjs"), join(directory, "listed")];
  const write = `process.getBuiltinModule("node:fs").writeFileSync(${JSON.stringify(listed)}, process.moduleLoadList.join("\\n"))`;
  writeFileSync(report, `process.on("exit", () => ${write});`);
  const turnd = await startDaemon({
    directory,
    env: { ...fakeEnv(directory), NODE_OPTIONS: `--import ${report}` },
  });
  expect((await turnd.request("GET", "/v1/health")).status).toBe(200);
  expect(await turnd.stop()).toBe(0);
  const loaded = readFileSync(listed, "utf8").split("\n");
  expect(loaded).toContain("NativeModule http");
  expect(LATE.filter((name) => loaded.includes(`NativeModule ${name}`))).toEqual([]);
});
