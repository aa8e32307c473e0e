import { describe, expect, test } from "vitest";
import { LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";

/** Numbered lines of so many bytes, so that a gap shows. */
function numberedLines(bytes: number): string {
  const lines = Array.from({ length: bytes / 16 }, (_, index) => `line ${String(index).padStart(10, "0")}\n`);
  return lines.join("").slice(0, bytes - 1);
}

describe.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("an answer of 2 MB arrives whole", async () => {
    const result = await stage().turnd.run({ executor, input: "@@big:2000000@@" });
    expect(result).toMatchObject({ status: "completed" });
    expect(result.output === `${numberedLines(2_000_000)}.`).toBe(true);
  });

  test("a prompt of 900 KB arrives whole", async () => {
    const { turnd, model } = stage();
    const prompt = `${numberedLines(900_000)}\n@@text:Read.@@`;
    expect(await turnd.run({ executor, input: prompt })).toMatchObject({ status: "completed", output: "Read." });
    const sent = model.requests.at(-1)?.conversation.entries.findLast((entry) => entry.type === "user");
    expect(sent?.text.trim() === prompt).toBe(true);
  });
});
