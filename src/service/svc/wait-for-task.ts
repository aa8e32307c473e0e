import { setTimeout as delay } from "node:timers/promises";
import { Task, WorkDone } from "./answers.ts";
import { interrupted, readAnswer, type Client } from "./client.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { createProgressBar } from "./progress.ts";
import type { Terminal } from "../../kit/command-line/terminal.ts";
import { count, safeLine, table } from "../../kit/command-line/text.ts";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_500;

/**
 * Waits for a task's end and shows how it went.
 *
 * @returns `failed` where the task, or any of its files, did not come to a good end
 */
export async function waitForTask({ terminal, signal }: Context, client: Client, taskId: string): Promise<ExitCode> {
  const path = `/api/tasks/${encodeURIComponent(taskId)}`;
  const bar = createProgressBar(terminal);
  try {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 1.5)) {
      const answer = await client.call({ method: "GET", path });
      const { task } = readAnswer(Task, answer);
      if (task.status !== "pending" && task.status !== "running") {
        bar.end();
        terminal.json(answer);
        return showEnd(terminal, task);
      }
      bar.show(task.progress / 100, safeLine(task.message === "" ? task.status : task.message));
      await delay(pauseMs, undefined, { signal }).catch(() => {
        throw interrupted();
      });
    }
  } catch (error) {
    bar.end();
    if (signal.aborted) terminal.notice(`the task goes on: svc task wait ${safeLine(taskId)}`);
    throw error;
  }
}

/** A task that ended well has visited every file; each file has its own outcome. */
function showEnd(terminal: Terminal, task: Task): ExitCode {
  const work = WorkDone.safeParse(task.result);
  if (task.status !== "success") {
    const why = task.error === null ? "" : `: ${safeLine(task.error.message)} (${safeLine(task.error.code)})`;
    terminal.text(`task ${task.status}${why}`);
    return EXIT.failed;
  }
  if (!work.success) {
    terminal.text("task success");
    return EXIT.done;
  }
  const { total, parsed, indexed, failed, skipped, files } = work.data;
  const parts = [
    ...(parsed > 0 ? [`${parsed} parsed`] : []),
    ...(indexed > 0 ? [`${indexed} indexed`] : []),
    `${failed} failed`,
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ];
  terminal.text(`${count(total, "file")}: ${parts.join(", ")}`);
  const faults = files.flatMap(({ filename, error }) =>
    error === null || error === undefined ? [] : [[filename, error.code, error.message]],
  );
  if (faults.length > 0) terminal.warn(table(["FILE", "ERROR", "MESSAGE"], faults));
  return failed > 0 ? EXIT.failed : EXIT.done;
}
