import { defined } from "../../../kit/defined.ts";
import { Queued } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { EXIT, usageError, type ExitCode } from "../exit-codes.ts";
import { count, safeLine } from "../../../kit/command-line/text.ts";
import { waitForTask } from "../wait-for-task.ts";

export interface WorkOptions {
  readonly kbId: string;
  readonly fileId?: readonly string[];
  readonly pending?: boolean;
  readonly includeFailed?: boolean;
  readonly wait?: boolean;
  readonly force?: boolean;
  readonly ocr?: string;
  readonly languages?: string;
}

/** Has files parsed or indexed: those that are named, or all that are due. */
export async function work(context: Context, kind: "parse" | "index", options: WorkOptions): Promise<ExitCode> {
  const { client: connect, terminal } = context;
  const { kbId, fileId = [], pending, force, ocr, languages } = options;
  if (fileId.length > 0 === (pending === true)) throw usageError("give either --file-id or --pending");
  if (pending === true && force === true) throw usageError("--force needs --file-id");
  if (pending !== true && options.includeFailed === true) throw usageError("--include-failed needs --pending");
  const params = {
    ...(force === true ? { force } : {}),
    ...defined({ ocr, languages }),
    ...(options.includeFailed === true ? { include_failed: true } : {}),
  };
  const client = await connect();
  const answer = await client.call({
    method: "POST",
    path: `/api/knowledge/databases/${encodeURIComponent(kbId)}/documents/${kind}${pending === true ? "-pending" : ""}`,
    body: { ...(pending === true ? {} : { file_ids: fileId }), params },
    // A by-state task that is open already is joined.
    isRepeatable: pending === true,
  });
  const { task_id: taskId, queued_count: queued } = readAnswer(Queued, answer);
  if (taskId === null) {
    terminal.text(`no file to ${kind}`);
    terminal.json(answer);
    return EXIT.done;
  }
  if (options.wait === true) return waitForTask(context, client, taskId);
  terminal.text(`${queued === undefined ? "" : `${count(queued, "file")} to ${kind}: `}task ${safeLine(taskId)}`);
  terminal.notice(`wait for it: svc task wait ${safeLine(taskId)}`);
  terminal.json(answer);
  return EXIT.done;
}
