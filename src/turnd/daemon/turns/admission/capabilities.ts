import {
  ProblemError,
  type Capabilities,
  type McpServers,
  type Permissions,
  type TurnRequest,
} from "../../../protocol/index.ts";

/**
 * Refuses by name what an executor cannot do.
 *
 * @throws {ProblemError} mode_unsupported, invalid_request
 */
export function assertSupported(request: TurnRequest, id: string, can: Capabilities): void {
  if (!can.modes.includes(request.mode)) {
    throw new ProblemError("mode_unsupported", `${id} cannot ${request.mode}; it can ${can.modes.join(", ")}`);
  }
  const asked = {
    input: !can.images && typeof request.input !== "string" && request.input.some((part) => part.type === "image"),
    output_schema: !can.output_schema && request.output_schema !== undefined,
    agent: !can.agents && request.agent !== undefined,
    effort: !can.effort && request.effort !== undefined,
    "permissions.approval": !can.approvals && request.permissions?.approval !== undefined,
    permissions: !can.permissions && Object.keys(request.permissions ?? {}).length > 0,
    mcp_servers: !can.mcp_servers && Object.keys(request.mcp_servers ?? {}).length > 0,
    instructions: !can.instructions && request.instructions !== undefined,
  };
  const fields = Object.entries(asked)
    .filter(([, isRefused]) => isRefused)
    .map(([path]) => ({ path, message: path === "input" ? `${id} takes no images` : `${id} has no ${path}` }));
  if (fields.length > 0) {
    const names = fields.map((field) => field.message).join("; ");
    throw new ProblemError("invalid_request", `${names}: leave it out or use another executor`, { fields });
  }
}

/**
 * Refuses MCP servers that are programs where the turn may start none.
 *
 * @throws {ProblemError} invalid_request
 */
export function assertNoPrograms(servers: McpServers, permissions: Permissions): void {
  if (permissions.execute !== "deny") return;
  const fields = Object.entries(servers)
    .filter(([, { type }]) => type === "stdio")
    .map(([name]) => ({ path: `mcp_servers.${name}`, message: "a program, and the turn may start none" }));
  if (fields.length === 0) return;
  const message = "permissions.execute is denied, so no MCP server of type stdio is started: name one of type http";
  throw new ProblemError("invalid_request", message, { fields });
}
