import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

const Ended = z.looseObject({ type: z.string(), data: z.looseObject({ failure: z.unknown() }) });

/** How a turn ends of which `turn.json` says why turnd's own request was not answered. */
async function endOf(fixture: string): Promise<unknown> {
  const copy = join(temporaryDirectory(onTestFinished), "turn");
  cpSync(join(REPOSITORY, "fixtures", fixture), copy, { recursive: true });
  const file = join(copy, "turn.json");
  const turn: unknown = JSON.parse(readFileSync(file, "utf8"));
  writeFileSync(file, JSON.stringify({ ...z.looseObject({}).parse(turn), provider_fault: "POST u failed (CODE)" }));
  const { stdout } = await execa(process.execPath, [inject("turnd"), "replay", copy]);
  return Ended.parse(JSON.parse(stdout.split("\n").at(-1) ?? "")).data.failure;
}

test("a turn that did not reach its provider has the cause of turnd's own request in its message, replayed too", async () => {
  expect(await endOf("cli-b/0.169.0/connection-refused")).toMatchObject({
    code: "network_error",
    message: expect.stringMatching(/^The provider .*\. Before the turn turnd asked it too: POST u failed \(CODE\); /),
    evidence: [{ source: "stdout" }, { source: "turnd", text: expect.stringContaining("POST u failed (CODE)") }],
  });
});

test("a turn that failed for another reason does not quote it", async () => {
  expect(JSON.stringify(await endOf("cli-b/0.139.0/bad-key"))).not.toContain("POST u");
});
