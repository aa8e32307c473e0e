import { dirname, join } from "node:path";
import type { KeptCommand } from "../keeper/keeper.ts";
import { asUser } from "../run-as.ts";

/**
 * Puts the relay before a server that speaks HTTP: a process of turnd's own user, which starts the server as the CLIs' user.
 *
 * The server enters its working directory itself: another user's rights would lead through links that it may not follow.
 */
export function throughRelay<T extends Pick<KeptCommand, "keeperPath" | "command" | "runAs" | "cwd">>(kept: T): T {
  const relay = join(dirname(kept.keeperPath), "server-relay.mjs");
  const server = asUser(kept.runAs, ["/usr/bin/env", `--chdir=${kept.cwd}`, ...kept.command]);
  const own = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, isSelf: true };
  return { ...kept, command: [process.execPath, relay, ...server], runAs: own, cwd: "/" };
}
