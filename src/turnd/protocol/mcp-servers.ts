import * as z from "zod";

const MAX_SERVERS = 16;
const MAX_ENTRIES = 64;
const MAX_TEXT = 8_192;

/** CLI A replaces such a reference: a caller's value could become the operator's key. */
const REFERENCE = /\{(?:env|file):/;
// eslint-disable-next-line no-control-regex -- a tab and a line break are the only ones that a value can need
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/;

/** A value in a server's definition. */
export const McpValue = z
  .string()
  .max(MAX_TEXT)
  .refine((value) => !CONTROL.test(value) && value.isWellFormed(), "must be text without control characters")
  .refine((value) => !REFERENCE.test(value), "must not hold {env: or {file:, which CLI A would replace");

const text = McpValue;

const url = text
  .max(2_048)
  .refine((value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol), "an http or https address")
  .refine(
    (value) => !URL.canParse(value) || (new URL(value).username === "" && new URL(value).password === ""),
    "must not hold a user name or password; use headers",
  );

function entries(name: RegExp, message: string, value: z.ZodType<string>) {
  return z
    .record(z.string().regex(name, message).max(128), value)
    .refine((table) => Object.keys(table).length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} entries`)
    .optional();
}

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
const headers = entries(
  HEADER_NAME,
  "the name of a header",
  text.regex(/^[\t\u0020-\u007e\u0080-\u00ff]*$/, "one line of Latin-1"),
);
const env = entries(/^[A-Za-z_][A-Za-z0-9_]*$/, "the name of a variable: letters, digits and _", text);

/** A server of tools that the CLI connects to, or starts, for one turn. */
export const McpServer = z
  .discriminatedUnion("type", [
    z
      .strictObject({
        type: z.literal("http").meta({ description: "Streamable HTTP." }),
        url: url.meta({ description: "As the CLI reaches it, from inside the sandbox." }),
        headers: headers.meta({ description: "Sent with every request, such as `Authorization`." }),
      })
      .meta({ id: "HttpMcpServer", description: "A server of tools that the CLI connects to." }),
    z
      .strictObject({
        type: z.literal("stdio").meta({ description: "A program that the CLI starts as its own user, per turn." }),
        command: text.min(1).describe("The program, by path or by name on `PATH`."),
        args: z.array(text).max(MAX_ENTRIES).optional().describe("Its arguments."),
        env: env.meta({ description: "Besides the few variables that the CLI gives every server." }),
      })
      .meta({ id: "StdioMcpServer", description: "A server of tools that the CLI starts." }),
  ])
  .meta({ id: "McpServer", description: "A server of tools that the CLI connects to, or starts, for one turn." });
export type McpServer = z.infer<typeof McpServer>;

/** A table of servers by the name that the CLI puts before their tools' names. */
export function mcpServersOf<T extends z.ZodType>(server: T) {
  return z
    .record(
      z
        .string()
        .regex(
          /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/,
          "letters, digits, _ and -, up to 32, beginning with a letter or digit",
        ),
      server,
    )
    .refine((table) => Object.keys(table).length <= MAX_SERVERS, `at most ${MAX_SERVERS} servers`);
}

/** MCP servers by name. */
export const McpServers = mcpServersOf(McpServer).meta({
  id: "McpServers",
  description: "MCP servers by the name that the CLI puts before their tools' names; at most 16.",
});
export type McpServers = z.infer<typeof McpServers>;
