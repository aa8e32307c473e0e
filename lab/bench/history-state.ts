import { chownSync, cpSync, linkSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI_USER } from "../../test/harness/temporary.ts";
import { withDaemon } from "./stage.ts";

const TURNS_OF_A_SESSION = 10;
/** What names a turn, or is looked at when it is read; the rest is the same for all and costs a link. */
const OWN_FILES = ["turn.json", "events.jsonl", "result.json"];

/**
 * Makes a state directory with so many ended turns: real ones of the fake CLI, copied with ids of their own.
 *
 * @param directory - of a daemon that is not running
 */
export async function makeHistory(directory: string, turns: number): Promise<void> {
  const {
    session_id: sessionId,
    turn_id: turnId,
    request_id: requestId,
  } = await withDaemon(directory, ({ turnd }) =>
    turnd.run({ executor: "cli-b", input: "hello", request_id: "request-of-history" }),
  );
  const sessions = join(directory, "state/sessions");
  const template = join(directory, "template");
  cpSync(join(sessions, sessionId), template, { recursive: true });
  rmSync(join(sessions, sessionId), { recursive: true });
  rmSync(join(directory, "state/index.db"), { force: true });
  const [turn, session] = [join(template, "turns", turnId), readFileSync(join(template, "session.json"), "utf8")];
  const shared = readdirSync(turn).filter((name) => !OWN_FILES.includes(name) && !name.startsWith("request."));
  const own = OWN_FILES.map((name) => [name, readFileSync(join(turn, name), "utf8")] as const);
  for (let at = 0; at < turns; at += 1) {
    const number = String(at).padStart(8, "0");
    const newSession = `session-${String(Math.floor(at / TURNS_OF_A_SESSION)).padStart(8, "0")}`;
    const base = join(sessions, newSession);
    if (at % TURNS_OF_A_SESSION === 0) {
      for (const path of [base, join(base, "turns"), join(base, "home")]) mkdirSync(path, { mode: 0o711 });
      chownSync(join(base, "home"), CLI_USER.uid, CLI_USER.gid);
      writeFileSync(join(base, "session.json"), session.replaceAll(sessionId, newSession), { mode: 0o600 });
    }
    const [newTurn, newRequest] = [`${turnId.slice(0, -8)}${number}`, `request-${number}`];
    const place = join(base, "turns", newTurn);
    mkdirSync(place, { mode: 0o700 });
    for (const name of shared) linkSync(join(turn, name), join(place, name));
    for (const [name, text] of own) {
      const renamed = text
        .replaceAll(sessionId, newSession)
        .replaceAll(turnId, newTurn)
        .replaceAll(requestId, newRequest)
        .replace(/"order":\d+/, `"order":${at + 1}`);
      writeFileSync(join(place, name), renamed, { mode: 0o600 });
    }
    writeFileSync(join(place, `request.${newRequest}`), "", { mode: 0o600 });
  }
}
