import type { Permissions } from "../../../protocol/index.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";

/** What a turn may not do, and whether it asks before it does what it may: what its session may not, and what it may not itself. Neither gives back what the other denies. */
export function permissionsOf(
  session: Pick<SessionFile, "permissions"> | undefined,
  { permissions = {} }: Pick<TurnFile, "permissions">,
): Permissions {
  return { ...session?.permissions, ...permissions };
}
