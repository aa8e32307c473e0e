import {
  ProblemError,
  referencesIn,
  withReferences,
  type Capabilities,
  type McpServers,
  type SessionMcpServers,
  type SessionRequest,
} from "../../../protocol/index.ts";
import { secretsOfServers } from "../../executors/secrets/server-secrets.ts";
import type { SessionFile } from "../../sessions/session-file.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";
import { assertNoPrograms } from "./capabilities.ts";
import { permissionsOf } from "./turn-permissions.ts";

/** The values that sessions may refer to, by the names of their variables. Source: `TURND_SESSION_SECRETS`. */
export type SessionSecrets = Readonly<Record<string, string>>;

/** Stands for a value where it must not matter: no secret by any rule. */
const ANY = "value";

/**
 * Refuses what a session may not be made with.
 *
 * @throws {ProblemError} invalid_request, naming the fields
 */
export function assertSessionSupported(
  { executor, permissions, mcp_servers: servers = {}, instructions }: SessionRequest,
  can: Capabilities,
  secrets: SessionSecrets,
): void {
  const lacks = [
    ...(!can.mcp_servers && Object.keys(servers).length > 0 ? ["mcp_servers"] : []),
    ...(!can.instructions && instructions !== undefined ? ["instructions"] : []),
    ...(!can.approvals && permissions.approval !== undefined ? ["permissions.approval"] : []),
  ];
  refuse(lacks.map((path) => ({ path, message: `${executor} has no ${path}` })));
  refuse(
    referencesIn(servers)
      .filter(({ name }) => !Object.hasOwn(secrets, name))
      .map(({ path, name }) => ({
        path,
        message: `${name} is not set, or TURND_SESSION_SECRETS does not name it`,
      })),
  );
  refuse(
    Object.entries(servers)
      .filter(([, server]) => secretsOfServers(withReferences({ server }, () => ANY)).length > 0)
      .map(([name]) => ({
        path: `mcp_servers.${name}`,
        message:
          'holds what looks like a secret, which is not stored: use {"from_env": "<a name of TURND_SESSION_SECRETS>"}',
      })),
  );
  assertNoPrograms(
    withReferences(servers, () => ANY),
    permissions,
  );
}

function refuse(fields: readonly { readonly path: string; readonly message: string }[]): void {
  const [first] = fields;
  if (first === undefined) return;
  throw new ProblemError("invalid_request", `${first.path}: ${first.message}`, { fields: [...fields] });
}

/** Names of the variables that a session refers to and that are not there any more. */
export function missingSecrets(servers: SessionMcpServers, secrets: SessionSecrets): string[] {
  const names = referencesIn(servers).map(({ name }) => name);
  return [...new Set(names)].filter((name) => !Object.hasOwn(secrets, name));
}

/**
 * The servers that a turn brings to its CLI: those of its session, with secrets in place of references, and those of its
 * request, which win. Programs of the session are left out where the turn may start none.
 */
export function serversOf(
  session: Pick<SessionFile, "permissions" | "mcp_servers"> | undefined,
  turn: Pick<TurnFile, "permissions" | "mcp_servers">,
  secrets: SessionSecrets,
): McpServers {
  const given = withReferences(
    session?.mcp_servers ?? {},
    ({ from_env: name, prefix = "" }) => `${prefix}${secrets[name] ?? ""}`,
  );
  const isProgramAllowed = permissionsOf(session, turn).execute !== "deny";
  const allowed = Object.entries(given).filter(([, { type }]) => isProgramAllowed || type !== "stdio");
  return { ...Object.fromEntries(allowed), ...turn.mcp_servers };
}
