import { once } from "node:events";
import type { TurnPatch } from "../../client/files.ts";
import { safeLine, safeText } from "../../../kit/command-line/text.ts";
import { ProblemError } from "../../protocol/index.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { paintDiff } from "./show-tool.ts";
import { createStyle } from "./style.ts";

/** `turnd run --diff`: what the turn that has ended changed, behind its events. Without one, stderr says why. */
export async function printTurnDiff(context: Context, turnId: string): Promise<void> {
  const { client, stdout, env } = context;
  try {
    const diff = await client.diff(turnId);
    if (context.isJson) return await context.printJson({ diff: toJson(turnId, diff) });
    noticeLimits(context, diff);
    if (diff.patch === "") context.terminal.notice("turnd: the turn changed no file");
    else await context.print(paintDiff(diff.patch, createStyle(stdout, env)));
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "diff_not_found") throw error;
    context.terminal.warn(`turnd: ${safeLine(error.message)}`);
  }
}

/** `turnd show --diff`: only the patch, as its own bytes where the output is no terminal. */
export async function showTurnDiff(context: Context, turnId: string): Promise<ExitCode> {
  const { client, stdout, env, signal } = context;
  const diff = await client.diff(turnId, { signal });
  if (context.isJson) await context.printJson(toJson(turnId, diff));
  else {
    noticeLimits(context, diff);
    if (stdout.isTTY) await context.print(paintDiff(diff.patch, createStyle(stdout, env)));
    else if (!stdout.write(diff.bytes)) await once(stdout, "drain");
  }
  return EXIT.done;
}

function toJson(turnId: string, { patch, isTruncated, leftOut }: TurnPatch): object {
  return { turn_id: turnId, patch, is_truncated: isTruncated, left_out: leftOut };
}

// Law: never pretend.
function noticeLimits({ terminal }: Context, { isTruncated, leftOut }: TurnPatch): void {
  if (isTruncated) terminal.warn("turnd: the diff is cut off (TURND_MAX_DIFF_BYTES), and cannot be applied");
  for (const { path, reason } of leftOut) {
    terminal.warn(safeText(`turnd: the diff says nothing of ${path}: ${reason}`));
  }
}
