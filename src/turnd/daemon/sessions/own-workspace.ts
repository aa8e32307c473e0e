import { basename, join } from "node:path";
import { readRegular } from "../storage/read-regular.ts";
import { SessionFile } from "./session-file.ts";

/** Between a session's id and what tells its workspace from others; in no id. */
const BEHIND_ID = "~";

/**
 * The name of the directory that a session works in, below the root of the workspaces. A colon would end an entry of `PATH`.
 *
 * @param suffix - for an id that may be used again, or that a person may have given to a directory: no name is used twice,
 * so that what is removed late is never another session's
 */
export function ownWorkspaceName(sessionId: string, suffix?: string): string {
  return `${sessionId.replaceAll(":", "+")}${suffix === undefined ? "" : `${BEHIND_ID}${suffix}`}`;
}

/** The id of the session whose own workspace would have this path. */
export function ownerIdOf(path: string): string {
  const [name = ""] = basename(path).split(BEHIND_ID);
  return name.replaceAll("+", ":");
}

/** The workspace that turnd has made for a session, from its directory; undefined where there is none, or nobody knows. */
export async function readOwnWorkspace(directory: string): Promise<string | undefined> {
  const text = await readRegular(join(directory, "session.json")).catch(() => undefined);
  // Of a session that cannot be read, and of the rest of one that was being removed, no file says what is its own.
  const session = SessionFile.safeParse(parse(text?.toString() ?? ""));
  if (!session.success || session.data.own_workspace !== true) return undefined;
  const { workspace, session_id: id } = session.data;
  return ownerIdOf(workspace) === id ? workspace : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
