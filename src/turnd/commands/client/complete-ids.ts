import { createTurndClient } from "../../client/turnd-client.ts";
import type { CompletionPlace } from "../../../kit/command-line/completion.ts";
import { chooseTarget } from "./target.ts";

/** Longest wait for turnd's answer, so that the shell's completion stays quick. */
const ANSWER_MS = 1_500;

/** Ids that turnd has, for a place of the command line that takes one; none where it cannot be asked. */
export async function completeIds(
  env: Readonly<Record<string, string | undefined>>,
  { command, option, argument }: CompletionPlace,
): Promise<readonly string[]> {
  const isTurn = option === undefined && /^(show|tail|cancel)$/.test(command);
  const isSession =
    option === "--session" ||
    (option === undefined && argument === 0 && /^(sessions delete|files (list|get|put|delete))$/.test(command));
  if (!isTurn && !isSession) return [];
  try {
    const { url, token, isExposed } = await chooseTarget(env, { insecure: true });
    if (isExposed) return [];
    const client = createTurndClient({ baseUrl: url, token, retries: 0 });
    const signal = AbortSignal.timeout(ANSWER_MS);
    if (isTurn) return (await client.turns({ signal, limit: 100 })).map(({ turn_id: id }) => id);
    return (await client.sessions({ signal })).map(({ session_id: id }) => id);
  } catch {
    // Nothing is printed into a line that is being typed; the command itself reports the error.
    return [];
  }
}
