import type { CancelReceipt, Tolerant } from "../../protocol/index.ts";
import { count, safeLine } from "../../../kit/command-line/text.ts";
import type { Context } from "./context.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { formatDuration } from "./show-end.ts";

/** Cancels a turn, and reports the receipt on stderr: which processes were ended. */
export async function cancelTurn({ client, terminal }: Context, turnId: string): Promise<Tolerant<CancelReceipt>> {
  terminal.notice(`turnd: cancelling turn ${turnId}; again to leave at once`);
  const receipt = await client.cancel(turnId);
  terminal.notice(`turnd: ${describeReceipt(receipt)}`);
  return receipt;
}

/** `turnd cancel`. */
export async function cancel(context: Context, turnId: string): Promise<ExitCode> {
  const { client, signal, isJson, isQuiet } = context;
  const receipt = await client.cancel(turnId, { signal });
  if (isJson) await context.printJson(receipt);
  else if (!isQuiet) await context.print(`${describeReceipt(receipt)}\n`);
  return EXIT.done;
}

function describeReceipt({
  turn_id: id,
  status,
  already_ended: isOld,
  ended,
  duration_ms: durationMs,
}: Tolerant<CancelReceipt>) {
  if (isOld) return `turn ${id} had ended already: ${status}`;
  const processes = ended.map(({ pid, command, signal }) => `\n  ${pid} ${safeLine(command)} (${signal})`).join("");
  const what = `${count(ended.length, "process", "processes")} ended in ${formatDuration(durationMs)}`;
  return `turn ${id} is ${status === "running" ? "stopped, its last events are still logged" : status}: ${what}${processes}`;
}
