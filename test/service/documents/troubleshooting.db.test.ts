import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { expectPrinted, shownBehind } from "../../harness/shown-block.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startTestService } from "../harness/service.ts";

const TEXT = readFileSync(join(REPOSITORY, "docs/troubleshooting.md"), "utf8");

test("a service shows its runs, its state and who used what as docs/troubleshooting.md says", async () => {
  const daemon = await fakeDaemon();
  const directory = join(temporaryDirectory(onTestFinished), "data");
  const service = await startTestService({ turndUrl: daemon.url, directory });
  const first = await service.submit(await service.thread(), "Say hello.");
  await service.result(first.run_id);
  const { run_id: hanging } = await service.submit(await service.thread(), "hang");
  await waitFor("a run that hangs", async () => {
    const { body } = await service.call("GET", `/api/agent/runs/${hanging}`);
    return body.run.status === "running" && body.run.last_seq >= 2;
  });
  const blocks = [...TEXT.matchAll(/```sh\n([^]*?)```/g)].map(([, block = ""]) => block);
  const asked = blocks.filter((block) => block.includes("$B/"));
  expect(asked).toHaveLength(5);
  for (const block of asked) {
    const { exitCode, stdout, stderr } = await execa("bash", ["-euo", "pipefail", "-c", block], {
      env: { B: service.url, H: `Authorization: ${service.authorization()}` },
      reject: false,
    });
    expect([block, exitCode, stderr]).toEqual([block, 0, ""]);
    expectPrinted(shownBehind(TEXT, block), stdout);
  }
  // What the document says of its events.
  const { body } = await service.call("GET", `/api/agent/runs/${hanging}/events?format=json`);
  expect(body.events.map(({ payload }: { payload: { name?: string } }) => payload.name)).toContain("svc.turn");
});
