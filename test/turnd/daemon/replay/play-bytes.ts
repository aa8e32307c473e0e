import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TurnEndedData } from "../../../../src/turnd/protocol/index.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { replayLines } from "./replay-lines.ts";

/** A fixture of each CLI whose turn and exit a made-up output is given. */
const FRAMES = {
  "cli-a": "fixtures/cli-a/1.14.34/tool-succeeds",
  "cli-b": "fixtures/cli-b/0.139.0/shell-succeeds",
} as const;

export interface Played {
  readonly lines: readonly string[];
  readonly ended: TurnEndedData;
}

/** Replays output of any kind as a CLI's: through files, lines, translator and log, as a recording. */
export async function playBytes(
  executor: keyof typeof FRAMES,
  stdout: string | Buffer,
  stderr: string | Buffer = "",
): Promise<Played> {
  const directory = mkdtempSync(join(tmpdir(), "turnd-bytes-"));
  try {
    for (const name of ["turn.json", "exit.json"]) {
      copyFileSync(join(REPOSITORY, FRAMES[executor], name), join(directory, name));
    }
    writeFileSync(join(directory, "stdout.jsonl"), stdout);
    writeFileSync(join(directory, "stderr.log"), stderr);
    const { text, ended } = await replayLines(directory);
    return { lines: text.trimEnd().split("\n"), ended };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
