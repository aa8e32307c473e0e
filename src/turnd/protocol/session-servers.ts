import * as z from "zod";
import { McpServer, McpValue, mcpServersOf, type McpServers } from "./mcp-servers.ts";

/** The value of a variable of turnd's environment, which the operator allows by name in `TURND_SESSION_SECRETS`. */
export const SecretReference = z
  .strictObject({
    from_env: z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of a variable")
      .meta({ description: "One of the names in `TURND_SESSION_SECRETS`. Its value is neither stored nor shown." }),
    prefix: McpValue.max(64).optional().meta({ description: "Before the value, such as `Bearer `." }),
  })
  .meta({ id: "SecretReference", description: "The value of a variable of turnd's environment, by its name." });
export type SecretReference = z.infer<typeof SecretReference>;

const [http, stdio] = McpServer.options;
const table = z.record(z.string(), z.union([McpValue, SecretReference])).optional();

/** A server of tools that every turn of a session has. Secrets are given by reference. */
export const SessionMcpServer = z
  .discriminatedUnion("type", [
    http
      .extend({ headers: table.meta({ description: "Sent with every request; a secret is a reference." }) })
      .meta({ id: "SessionHttpMcpServer", description: "A server of tools that the CLI connects to." }),
    stdio
      .extend({ env: table.meta({ description: "As in a turn's servers; a secret is a reference." }) })
      .meta({ id: "SessionStdioMcpServer", description: "A server of tools that the CLI starts." }),
  ])
  .meta({ id: "SessionMcpServer", description: "A server of tools that every turn of a session has." });
export type SessionMcpServer = z.infer<typeof SessionMcpServer>;

/**
 * A session's servers by name. What holds for those of a turn holds for these, with any value in place of a reference.
 */
export const SessionMcpServers = mcpServersOf(SessionMcpServer)
  .superRefine((servers, context) => {
    const checked = mcpServersOf(McpServer).safeParse(withReferences(servers, ({ prefix = "" }) => `${prefix}value`));
    for (const { path, message } of checked.error?.issues ?? []) {
      context.addIssue({ code: "custom", path: [...path], message });
    }
  })
  .meta({
    id: "SessionMcpServers",
    description: "MCP servers by the name that the CLI puts before their tools' names; secrets by reference.",
  });
export type SessionMcpServers = z.infer<typeof SessionMcpServers>;

/** The servers with something in place of each reference. */
export function withReferences(
  servers: SessionMcpServers,
  valueOf: (reference: SecretReference) => string,
): McpServers {
  const filled = (values: Readonly<Record<string, string | SecretReference>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? value : valueOf(value)]),
    );
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]): [string, McpServers[string]] => {
      if (server.type === "http") {
        const { headers, ...rest } = server;
        return [name, headers === undefined ? rest : { ...rest, headers: filled(headers) }];
      }
      const { env, ...rest } = server;
      return [name, env === undefined ? rest : { ...rest, env: filled(env) }];
    }),
  );
}

/** Every reference among a session's servers, with the field it stands in. */
export function referencesIn(servers: SessionMcpServers): { readonly path: string; readonly name: string }[] {
  return Object.entries(servers).flatMap(([server, given]) => {
    const [field, values] = given.type === "http" ? ["headers", given.headers] : ["env", given.env];
    return Object.entries(values ?? {}).flatMap(([key, value]) =>
      typeof value === "string" ? [] : [{ path: `mcp_servers.${server}.${field}.${key}`, name: value.from_env }],
    );
  });
}
