import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnInputText, TurnSnapshot } from "../../protocol/turns.ts";
import { BASE_URL, login } from "../connection.ts";

/** The request of a command. */
export type CurlCall = "start" | "events" | "result" | "cancel";

const LONGEST_ARGUMENT = 100_000;

/**
 * A command that asks the same of turnd as this page; the token comes from the shell's own variable.
 *
 * @param input - what the turn was asked: `start` begins such a turn
 */
export function curlOf(
  call: CurlCall,
  turn: Tolerant<TurnSnapshot>,
  input: Tolerant<TurnInputText> | undefined,
): string {
  const url = `${BASE_URL}/v1/turns`;
  const own = `${url}/${encodeURIComponent(turn.turn_id)}`;
  if (call === "events") return command("-sSN", `${own}/events`, "-H 'accept: text/event-stream'");
  if (call === "result") return command("-sS", `${own}/result?explain=true`);
  if (call === "cancel") return command("-sS -X POST", `${own}/cancel`);
  const body = JSON.stringify({
    executor: turn.executor,
    session_id: turn.session_id,
    ...(turn.mode === "execute" ? {} : { mode: turn.mode }),
    workspace: turn.workspace,
    // What is undefined is no part of JSON.
    model: turn.model,
    agent: input?.agent,
    effort: input?.effort,
    permissions: input?.permissions,
    diff: input?.diff,
    input: input?.text ?? "",
  });
  const head = command("-sS", url, "-H 'content-type: application/json'");
  // The kernel takes no longer argument than 128 KiB; what is read from the shell has no such limit. JSON is one line.
  const isLong = new TextEncoder().encode(body).length > LONGEST_ARGUMENT;
  return isLong ? `${head} \\\n  -d @- <<'END'\n${body}\nEND` : `${head} \\\n  -d ${quote(body)}`;
}

function command(options: string, url: string, ...more: readonly string[]): string {
  const token = login.value === "open" ? [] : [`-H "authorization: Bearer $TURND_TOKEN"`];
  return [`curl ${options} ${quote(url)}`, ...token, ...more].join(" \\\n  ");
}

/** As one word of a POSIX shell, whatever is in it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
