/**
 * What turnd itself writes into the `stdout.jsonl` of an interactive turn, beside what the CLI's server prints: each request
 * and each answer, before it is sent. A copied directory replays by itself, and a daemon that is killed finds what it asked.
 */
export const OWN_RECORD = "turnd";

/** Whether a line of stdout is turnd's own: no record of a CLI begins so. */
export function isOwnRecord(text: string): boolean {
  return text.startsWith(`{"${OWN_RECORD}":`);
}
