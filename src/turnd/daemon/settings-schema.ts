import { z } from "zod";

/** A variable is documented by its schema, so that reference and errors agree. */
const integer = (fallback: number, minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(minimum).max(maximum)).default(fallback);
/** The longest that Linux accepts. */
const MAX_SOCKET_PATH = 107;
const socket = z.string().startsWith("/").max(MAX_SOCKET_PATH).optional();
/** `scheme://host:port` as browsers write it, so that it can be compared with an `Origin`. */
const origin = z
  .string()
  .regex(/^https?:\/\/([a-zA-Z0-9.-]+|\[[0-9a-fA-F:]+\])(:\d{1,5})?\/?$/)
  .refine((url) => URL.canParse(url), "must be an origin such as https://sandbox.example:8080")
  .transform((url) => new URL(url).origin);
const origins = z
  .string()
  .transform((list) => list.split(/[ ,]+/).filter(Boolean))
  .pipe(z.array(origin))
  .default([]);
const path = (fallback: string) => z.string().startsWith("/").default(fallback);
const MINUTE = 60_000;

/** Every variable turnd itself reads, but for the configuration of the CLIs. `docs/reference.md` is made from it. */
export const SettingsSchema = z.object({
  TURND_HOST: z.string().min(1).default("127.0.0.1").meta({ description: "Address `/v1` listens on" }),
  TURND_PORT: integer(8091, 0, 65_535).meta({ description: "Port `/v1` listens on; 0 picks one and logs it" }),
  TURND_REUSE_PORT: z.enum(["on", "off"]).default("off").meta({
    description:
      "Whether turnd's ports are shared with other programs of its user, by SO_REUSEPORT: the image holds them so while turnd is started again",
  }),
  TURND_SOCKET: socket.meta({
    description:
      "Unix socket that `/v1` listens on too, with connections and streams counted apart from the port's; open to its owner and to the group of its directory",
  }),
  TURND_STATE_DIR: path("/var/lib/turnd").meta({
    description: "Directory of sessions and turns, which the CLIs' user must be able to enter; a volume",
  }),
  TURND_HOME: path("/home/sandbox").meta({ description: "Home of the CLI processes" }),
  TURND_RUN_AS: z
    .string()
    .regex(/^(self|\d+:\d+)$/)
    .default("1000:1000")
    .meta({ description: "`uid:gid` of the CLI processes, or `self` for turnd's own user" }),
  TURND_WORKSPACE: path("/workspace").meta({
    description: "Root of the workspaces: where sessions work that name no directory of their own",
  }),
  TURND_SESSION_WORKSPACE: z.enum(["own", "shared"]).default("own").meta({
    description:
      "Where a session works that names no `workspace`: `own`, in a directory below `TURND_WORKSPACE` that turnd makes for it and removes with it; `shared`, in `TURND_WORKSPACE` itself, with all others, as in the image",
  }),
  TURND_WORKSPACE_ROOTS: z
    .string()
    .regex(/^\/[^:]*(:\/[^:]*)*$/)
    .optional()
    .meta({ description: "Directories under which a workspace may lie, `:`-separated; default: workspace and home" }),
  TURND_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{8,}$/)
    .optional()
    .meta({ description: "Bearer token every request must carry" }),
  TURND_TOKEN_FILE: z.string().startsWith("/").optional().meta({ description: "File that holds the token instead" }),
  TURND_HOSTS: z
    .string()
    .regex(/^([A-Za-z0-9.-]+|\*)([ ,]+([A-Za-z0-9.-]+|\*))*$/)
    .transform((list) => list.split(/[ ,]+/))
    .default([])
    .meta({
      description:
        "Names accepted as Host besides addresses and loopback names, separated by commas or spaces; `*`, any, needs a token",
    }),
  TURND_CORS_ORIGINS: origins.meta({
    description:
      "Origins such as `https://app.example` whose pages may call `/v1` from a browser, separated by commas or spaces; no wildcard",
  }),
  TURND_TRANSPORT: z.enum(["auto", "headless", "interactive"]).default("headless").meta({
    description:
      "How a CLI is driven where neither turn nor session says: `headless`, a process for each turn; `interactive`, one server for the turns of a session, which streams and can ask; `auto`, interactive where turnd has measured the CLI's version and its configuration allows it",
  }),
  TURND_MAX_WARM_A: z.string().regex(/^\d+$/).transform(Number).pipe(z.int().max(1_000)).optional().meta({
    description:
      "Servers of CLI A, with a turn or without: each takes 500 MB. A session beyond them is headless; default: one for 2 GiB of memory, no more than `TURND_MAX_TURNS`",
  }),
  TURND_MAX_WARM_B: z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .pipe(z.int().max(1_000))
    .optional()
    .meta({ description: "Servers of CLI B that stay without a turn; default: `TURND_MAX_TURNS` and 2 more" }),
  TURND_WARM_IDLE_MS: integer(10 * MINUTE, 0, 1_440 * MINUTE).meta({
    description: "How long a server stays without a turn",
  }),
  TURND_APPROVAL_TIMEOUT_MS: integer(10 * MINUTE, 1_000, 1_440 * MINUTE).meta({
    description: "How long a person has to answer an approval or a question; then it is declined",
  }),
  TURND_MAX_TOOL_OUTPUT_BYTES: integer(262_144, 1_024, 67_108_864).meta({
    description:
      "How much of what one tool call prints is shown while it runs, in an interactive turn; its end has all of it",
  }),
  TURND_MAX_TURNS: integer(4, 1, 1_000).meta({ description: "Turns that run at once" }),
  TURND_MAX_QUEUED: integer(100, 0, 100_000).meta({
    description: "Turns that wait; 0 refuses a turn that cannot start at once",
  }),
  TURND_TURN_CGROUPS: z.enum(["auto", "off"]).default("auto").meta({
    description:
      "Whether each turn and shell gets a control group of its own, with the two limits below, where turnd may make some",
  }),
  TURND_TURN_MAX_PROCESSES: integer(1_024, 0, 4_194_304).meta({
    description: "Processes and threads of one turn or shell, in its control group; 0 is no limit of its own",
  }),
  TURND_TURN_MEMORY_MB: z
    .string()
    .regex(/^\d+$/)
    .transform(Number)
    .pipe(z.int().min(0).max(1_073_741_824))
    .optional()
    .meta({
      description:
        "MiB of memory and swap of one turn or shell, in its control group; 0 is no limit of its own; default: half of the sandbox's memory",
    }),
  TURND_TURN_TIMEOUT_MS: integer(60 * MINUTE, 0, 1_440 * MINUTE).meta({ description: "Longest turn; 0 is off" }),
  TURND_IDLE_TIMEOUT_MS: integer(10 * MINUTE, 0, 1_440 * MINUTE).meta({
    description: "Longest silence on stdout while no tool runs, from the first sign of the CLI on; 0 is off",
  }),
  TURND_START_TIMEOUT_MS: integer(MINUTE, 0, 60 * MINUTE).meta({
    description:
      "Longest wait for a first byte on stdout; what CLI A's log shows of a wait for the model does not count; 0 is off",
  }),
  TURND_EXIT_TIMEOUT_MS: integer(10_000, 0, 60 * MINUTE).meta({
    description: "Longest wait for a CLI to exit after the record that completes its turn; 0 is off",
  }),
  TURND_CANCEL_GRACE_MS: integer(2_000, 0, MINUTE).meta({ description: "Between asking a CLI to stop and killing it" }),
  TURND_MAX_OUTPUT_BYTES: integer(1_073_741_824, 1).meta({
    description: "Largest stdout of a turn, and largest stderr; its log may take four times as much",
  }),
  TURND_MAX_LINE_BYTES: integer(16_777_216, 1_024, 268_435_456).meta({
    description: "Longest line of output; a longer one becomes `record.unknown` with its beginning",
  }),
  TURND_MIN_FREE_BYTES: integer(33_554_432, 0).meta({
    description: "Free space on the disk of the state directory below which no turn is admitted; 0 is off",
  }),
  TURND_RETENTION_DAYS: integer(0, 0, 36_500).meta({
    description:
      "Days after its last turn that an ended session is deleted; one with a turn, a client that follows it or an open terminal is kept; 0 keeps all",
  }),
  TURND_RETENTION_BYTES: integer(0, 0).meta({
    description:
      "What all sessions may take on the disk: beyond it ended ones are deleted, those beyond their share first, then the ones longest left alone; 0 keeps all",
  }),
  TURND_RETENTION_SESSION_BYTES: integer(0, 0).meta({
    description:
      "A session's share of `TURND_RETENTION_BYTES`: one that takes more is deleted first, and while it is in use no more of it counts; 0 is a quarter",
  }),
  TURND_MAX_BODY_BYTES: integer(20_971_520, 1_024).meta({
    description: "A request's body where it may hold an image, a long text or a recording",
  }),
  TURND_MAX_PLAIN_BODY_BYTES: integer(65_536, 1_024).meta({
    description: "Every other body; a login's is 16 KiB at most",
  }),
  TURND_MAX_BODY_VALUES: integer(10_000, 100).meta({
    description: "Values and names of all levels in a body that is no recording",
  }),
  TURND_MAX_STREAMS: integer(1_000, 1).meta({
    description: "Event streams at once, on the port and again on `TURND_SOCKET`",
  }),
  TURND_MAX_FILE_BYTES: integer(4_294_967_296, 1).meta({ description: "Largest file that is written by the API" }),
  TURND_MAX_TRANSFERS: integer(16, 1, 1_000).meta({
    description: "Requests for files of sessions that are answered at once; each is a process",
  }),
  TURND_TRANSFER_STALL_MS: integer(MINUTE, 100, 60 * MINUTE).meta({
    description: "A read or write of a file of which no byte has moved for so long is ended",
  }),
  TURND_MAX_ARCHIVE_ENTRIES: integer(50_000, 1, 200_000).meta({
    description: "Most files and directories of one zip, which are held in memory",
  }),
  TURND_TURN_DIFF: z.enum(["on", "off"]).default("off").meta({
    description: "Whether what a turn changes is kept as a diff where its request does not say (`diff`)",
  }),
  TURND_DIFF_TIMEOUT_MS: integer(10_000, 100, 10 * MINUTE).meta({
    description: "Longest time for git to read a workspace, before a turn with a diff and after it",
  }),
  TURND_DIFF_MAX_COPY_BYTES: integer(268_435_456, 0).meta({
    description:
      "A turn has a diff in a workspace that is in no git repository where its files take no more than so many bytes, " +
      "each at least 4096 of them: they are copied until the turn has ended. 0 is none there",
  }),
  TURND_MAX_DIFF_BYTES: integer(16_777_216, 1_024).meta({ description: "Longest diff of a turn; the rest is cut off" }),
  TURND_SHUTDOWN_MS: integer(8_000, 100, 10 * MINUTE).meta({ description: "Time limit of a stop by SIGTERM" }),
  TURND_STEER_WAIT_MS: integer(30_000, 0, 60 * MINUTE).meta({ description: "Longest wait for a step boundary" }),
  TURND_SSE_HEARTBEAT_MS: integer(15_000, 100, 10 * MINUTE).meta({
    description: "Comment frames on idle streams, pings of the terminal's viewers",
  }),
  TURND_TICKET_MS: integer(30_000, 100, 10 * MINUTE).meta({
    description: "How long a ticket of `POST /v1/tickets` is valid",
  }),
  TURND_TERMINAL_PORT: z
    .string()
    .regex(/^(off|\d{1,5})$/)
    .refine((value) => value === "off" || Number(value) <= 65_535, "must be at most 65535")
    .transform((value) => (value === "off" ? value : Number(value)))
    .default("off")
    .meta({ description: "Port of the terminal's page and WebSocket, 6080 in the image; 0 picks one; `off`: none" }),
  TURND_TERMINAL_HOST: z.string().min(1).default("127.0.0.1").meta({ description: "Address that port listens on" }),
  TURND_TERMINAL_SOCKET: socket.meta({ description: "The same for that port, where it is on" }),
  TURND_TERMINAL_URL: origin.optional().meta({
    description:
      "Where people reach the page; begins the URLs that turnd gives, and pages from there may connect. Absent: the name " +
      "and port that the front was asked at, in the image; elsewhere the address of `TURND_TERMINAL_PORT`",
  }),
  TURND_TERMINAL_ORIGINS: origins.meta({
    description: "Further origins the page is reached at, separated by commas or spaces",
  }),
  TURND_TERMINAL_TICKET_MS: integer(30_000, 100, 10 * MINUTE).meta({
    description: "How long a viewer's ticket is valid",
  }),
  TURND_MAX_SHELLS: integer(16, 1, 1_000).meta({ description: "Shells that run at once" }),
  TURND_SHELL_MAX_VIEWERS: integer(20, 1, 1_000).meta({ description: "Viewers of one shell at once" }),
  TURND_SHELL_IDLE_MS: integer(30 * MINUTE, 0, 1_440 * MINUTE).meta({
    description: "A shell without viewer, input and output for so long ends; 0 is off",
  }),
  TURND_SHELL_SCROLLBACK_BYTES: integer(262_144, 131_072, 67_108_864).meta({
    description: "Output of a shell that is kept for viewers who come later",
  }),
  TURND_SHELL_STALL_MS: integer(30_000, 100, 10 * MINUTE).meta({
    description: "A viewer that reads no output for so long is dropped; until then its shell waits",
  }),
  TURND_CHECK_PROVIDER: z.enum(["on", "off"]).default("on").meta({
    description:
      "Whether CLI B's provider is asked, before a turn, if it has the Responses API: an empty request that costs no tokens",
  }),
  TURND_ALLOW_WORKSPACE_PLUGINS: z.enum(["0", "1"]).default("0").meta({
    description:
      "`1`: CLI A's turns run without turnd's guard, so that every version runs code that a repository brings, plans too, and believes what a tool wrote into its store; also lets a binary run in which the guard does not work",
  }),
  TURND_SESSION_SECRETS: z
    .string()
    .regex(/^([A-Za-z_][A-Za-z0-9_]*([ ,]+|$))*$/)
    .refine((names) => !/(^|[ ,])TURND_/.test(names), "must name none of turnd's own variables")
    .transform((names) => names.split(/[ ,]+/).filter(Boolean))
    .default([])
    .meta({
      description:
        "Names of variables of turnd's environment that `mcp_servers` of sessions may refer to (`from_env`), separated by commas or spaces",
    }),
  TURND_LOG_LEVEL: z
    .enum(["trace", "debug", "info", "warn", "error", "fatal"])
    .default("info")
    .meta({ description: "Level of the log on stdout" }),
  TURND_LOG_FORMAT: z.enum(["auto", "json", "readable"]).default("auto").meta({
    description: "Form of the log: JSON lines, or readable lines for a person; `auto`: readable on a terminal",
  }),
  TURND_PASS_ENV: z
    .string()
    .regex(/^([A-Za-z_][A-Za-z0-9_]*([ ,]+|$))*$/)
    .default("")
    .meta({ description: "Names of further variables the CLIs get, separated by commas or spaces" }),
});
