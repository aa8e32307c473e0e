import { cruise, type ICruiseResult } from "dependency-cruiser";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";

/** Rooms that only `turns` joins. */
const JOINED = ["executors", "process", "storage", "state-index", "event-log", "sessions", "replay"].map(
  (room) => `turnd/daemon/${room}`,
);
/** The rooms of the daemon, by their short names. */
const daemon = (...rooms: readonly string[]): string[] => rooms.map((room) => `turnd/daemon/${room}`);

/** What every room may import, pure ones too: it imports nothing itself. */
const EVERYWHERE: readonly string[] = ["kit/defined"];
/** But for the package `turnd-client`, which is these two folders. */
const PACKAGED: readonly string[] = ["turnd/protocol", "turnd/client"];

/** What each room may import besides itself. A new edge is its own commit, with the reason. Source: ARCHITECTURE.md. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "kit/defined": [],
  // What an app of turnd and one of the agent service do alike.
  "kit/http": [],
  // What the command lines of turnd, of the agent service and of its client do alike.
  "kit/command-line": [],
  // How a call is made again: waits, `Retry-After`, which statuses pass. Free of Node: a browser has it too.
  "kit/retry": [],
  "turnd/protocol": [],
  "turnd/client": ["turnd/protocol", "kit/retry"],
  // A page in a browser: it asks turnd as every client does.
  "turnd/inspector": ["turnd/protocol", "turnd/client"],
  ...daemonRooms(),
  // `turnd run`, `turns`, `show`, … : a person's use of a turnd, here or elsewhere, through what any client has.
  "turnd/commands/client": ["kit/command-line", "turnd/client", "turnd/protocol"],
  // What `turnd <command>` does, a file a command.
  "turnd/commands": [
    "kit/command-line",
    "turnd/commands/client",
    "turnd/protocol",
    ...JOINED,
    // What its variables hold that must not be printed is tracing's.
    ...daemon("turns", "doctor", "probe", "serve", "tracing", "settings", "version"),
    "scripted-model",
  ],
  // How V8 gets turnd's own code; of the commands what it tells them.
  "turnd/loading": ["turnd/commands"],
  // main.ts, program.ts and turnd.ts.
  turnd: [
    "kit/command-line",
    "turnd/protocol",
    ...daemon("executors", "event-log", "turns", "serve", "settings", "version"),
    "turnd/commands",
    "turnd/loading",
  ],
  "scripted-model": ["turnd/protocol"],
  ...serviceRooms(),
};

function daemonRooms(): Record<string, readonly string[]> {
  const protocol = "turnd/protocol";
  return {
    "turnd/daemon/executors": [protocol],
    // Files and directories that survive a crash; imports no other room.
    "turnd/daemon/storage": [],
    "turnd/daemon/process": [protocol, ...daemon("storage")],
    // What a slow disk must not hold up.
    "turnd/daemon/event-log": [protocol, ...daemon("storage")],
    // What sessions and turns are known without reading their directories: rows by key, nothing of what they mean.
    "turnd/daemon/state-index": [],
    "turnd/daemon/sessions": [protocol, ...daemon("storage", "state-index")],
    "turnd/daemon/replay": [protocol, ...daemon("event-log", "storage")],
    "turnd/daemon/turns": [protocol, ...JOINED],
    // Beside turns: a shell is a kept process as a turn's CLI is, and no turn.
    "turnd/daemon/terminal": [protocol, ...daemon("process", "storage")],
    // Beside turns: the workspace of a session is a path, and what works in it is a process of the CLIs' user.
    "turnd/daemon/files": [protocol, ...daemon("process")],
    "turnd/daemon/http": ["kit/http", protocol, ...daemon("turns", "terminal", "files")],
    // Looks at what the daemon would use, by the daemon's own means: the same search, the same homes, the same keeper.
    "turnd/daemon/doctor": [protocol, ...daemon("executors", "process", "storage", "turns")],
    // Plays turns as a client of the service does, and looks at the records they left; the model is set up for it.
    "turnd/daemon/probe": [protocol, ...daemon("executors", "turns")],
    "turnd/daemon/settings": [],
    "turnd/daemon/version": [],
    // Makes spans of what the turns report and have logged.
    "turnd/daemon/tracing": [protocol, ...daemon("event-log", "turns", "settings")],
    // Starts the daemon, stops it, and wires the rooms it is made of.
    "turnd/daemon/serve": [
      // The address at which it listens.
      "kit/http",
      protocol,
      ...JOINED,
      ...daemon("turns", "terminal", "files", "http", "tracing", "settings", "version"),
    ],
  };
}

/** The agent service: each row may import itself and what stands behind it; rooms in one row do not see one another. */
function serviceRooms(): Record<string, readonly string[]> {
  const rows = [
    ["service"],
    ["service/http"],
    ["service/agent-tools"],
    ["service/calls", "service/webhooks", "service/knowledge"],
    ["service/runs"],
    ["service/sandboxes", "service/threads"],
    ["service/agents"],
    ["service/auth", "service/tasks", "service/outbound"],
    ["service/storage"],
    ["service/protocol"],
    ["turnd/protocol"],
  ];
  const also: Readonly<Record<string, readonly string[]>> = {
    "service/http": ["kit/http"],
    "service/runs": ["turnd/client", "kit/retry"],
    "service/sandboxes": ["turnd/client", "kit/retry"],
    "service/knowledge": ["kit/retry"],
    "service/storage": ["kit/retry"],
  };
  const rooms = rows.slice(0, -1).flatMap((row, index) => {
    const behind = rows.slice(index + 1).flat();
    return row.map((room) => [room, [...behind, ...(also[room] ?? [])]] as const);
  });
  return {
    ...Object.fromEntries(rooms),
    "service/settings": ["service/protocol"],
    "service/version": [],
    service: [
      "kit/http",
      "kit/command-line",
      "service/settings",
      "service/version",
      "turnd/client",
      ...rows.slice(1).flat(),
    ],
    "service/svc": ["kit/command-line", "kit/retry", "service/protocol"],
  };
}

/** Folders and files within a room, each of which may import those before it in its list, and none behind it. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "src/turnd/daemon/turns/": [
    // Where a turn stands, the one writer of it, and who is told of it.
    "lifecycle/",
    "store/",
    "outcome/",
    "executors/",
    "admission/",
    "run/",
    "replay/",
    // The service itself, and what it is to the HTTP room.
    "",
  ],
  "src/service/runs/": [
    // The rows of requests and runs, and every move of them: the only writers of a status.
    "state/",
    "read/",
    "submit/",
    // A person's cancels, promotions and deletions.
    "control/",
    // A run's way through turnd.
    "work/",
    // The service itself.
    "",
  ],
  "src/service/knowledge/": [
    // The rows of bases and files, and every move of a file.
    "state/",
    // Markdown to chunks, in the parser's process too.
    "indexing/",
    "parse/",
    "models/",
    "lexical/",
    "vectors/",
    // Content of other services, ranked as one's own.
    "connectors/",
    "files/",
    "bases/",
    "query/",
    "uploads/",
    // What is done to files by tasks.
    "work/",
    "",
  ],
  "src/turnd/daemon/process/": [
    "exhausted.ts",
    "run-as.ts",
    "accounts.ts",
    "find-program.ts",
    "cgroup/",
    "output/",
    "starter/",
    "keeper/",
    "server/",
    "user-process.ts",
    "run-tool.ts",
    "user-files/",
  ],
};

/** Packages that only some files may name, by the beginning of their path. */
const OWNED: Readonly<Record<string, readonly string[]>> = {
  "pg-boss": ["src/service/storage/jobs"],
  "@electric-sql/pglite": ["src/service/storage/"],
  "@electric-sql/pglite-pgvector": ["src/service/storage/"],
  "@electric-sql/pglite-pg_textsearch": ["src/service/storage/"],
  pg: ["src/service/storage/"],
  "@opentelemetry/api": ["src/turnd/daemon/tracing/"],
  "@opentelemetry/core": ["src/turnd/daemon/tracing/"],
  "@opentelemetry/resources": ["src/turnd/daemon/tracing/"],
  "@opentelemetry/sdk-trace-base": ["src/turnd/daemon/tracing/"],
  dockerode: ["src/service/sandboxes/docker/"],
  "@modelcontextprotocol/server": ["src/service/agent-tools/"],
  "@kubernetes/client-node": ["src/service/sandboxes/kubernetes/"],
};

/** Packages and built-in modules of the rooms that must stay free of effects. */
const PURE: Readonly<Record<string, readonly string[]>> = {
  "turnd/protocol": ["zod"],
  "turnd/daemon/executors": ["zod", "smol-toml", "jsonc-parser", "node:path"],
  "service/protocol": ["zod"],
  "kit/retry": [],
  "kit/defined": [],
};

interface Edge {
  readonly from: string;
  /** A file of src/, or the name of a package or a built-in module. */
  readonly to: string;
}

let files: string[] = [];
let edges: Edge[] = [];
let seen = new Set<string>();
const sources = new Map<string, string>();

beforeAll(async () => {
  const entries = await readdir("src", { recursive: true });
  files = entries.filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts")).map((path) => join("src", path));
  for (const file of files) sources.set(file, withoutComments(await readFile(file, "utf8")));
  const modules = await cruiseSources();
  seen = new Set(modules.map(({ source }) => source));
  edges = modules.flatMap(edgesOf);
});

test("every file on disk is seen", () => {
  expect(files.filter((file) => !seen.has(file))).toEqual([]);
  expect(files.length).toBeGreaterThan(50);
});

test("every import that a file writes is seen", () => {
  const missed = files.flatMap((file) => {
    const written = new Set(
      [
        ...(sources.get(file) ?? "").matchAll(
          /^(?:import|export|\}) (?:[^"]*?from )?"(\.[^"]+)"|\bimport\("(\.[^"]+)"[,)]/gms,
        ),
      ].map(([, path, lazy]) => path ?? lazy),
    );
    const found = new Set(edges.flatMap(({ from, to }) => (from === file && to.startsWith("src/") ? [to] : [])));
    return written.size === found.size ? [] : [`${file}: wrote ${written.size}, found ${found.size}`];
  });
  expect(missed).toEqual([]);
});

test("rooms import one another only along the allowed edges", () => {
  const forbidden = edges.filter(({ from, to }) => {
    if (!to.startsWith("src/") || roomOf(from) === roomOf(to)) return false;
    if (EVERYWHERE.includes(roomOf(to)) && !PACKAGED.includes(roomOf(from))) return false;
    return ALLOWED[roomOf(from)]?.includes(roomOf(to)) !== true;
  });
  expect(forbidden).toEqual([]);
});

test("no file imports itself through others, not even for a type", () => {
  const inner = edges.filter(({ to }) => to.startsWith("src/"));
  expect(inCircles(inner)).toEqual([]);
});

test.each(Object.entries(LAYERS))("within %s imports go one way", (room, layers) => {
  const layerOf = (path: string): number => layers.findIndex((layer) => path.startsWith(`${room}${layer}`));
  const within = edges.filter(({ from, to }) => from.startsWith(room) && to.startsWith(room));
  expect(within.length).toBeGreaterThan(10);
  expect(within.filter(({ from, to }) => layerOf(to) > layerOf(from) || layerOf(from) === -1)).toEqual([]);
  expect(layers.filter((layer) => !files.some((file) => file.startsWith(`${room}${layer}`)))).toEqual([]);
});

test("the status of a run or a request is written in one room only", () => {
  const writers = findWritten(
    /insertInto\("run(_request)?"\)|updateTable\("run(_request)?"\)\s*\.set\(\{(?:[^{}]|\{[^{}]*\})*\bstatus\b/,
  );
  expect(writers.length).toBeGreaterThan(3);
  expect(writers.filter((file) => !file.startsWith("src/service/runs/state/"))).toEqual([]);
});

/** What knows a role of the service: where it is asked what one may do, and what else needs one. */
const ROLE_READERS = [
  // The table.
  "src/service/auth/permissions.ts",
  // The last superadmin stays.
  "src/service/auth/users.ts",
];

test("what a role may do is asked of one table", () => {
  const readers = findWritten(
    // `serve`, `api` and `worker` are roles of a process.
    /\brole\b[^\n]*[!=]== (?!"(?:serve|api|worker)")|[!=]== "(super)?admin"|\brole"?,? (?:"=",|=) ["']|\.includes\((\w+\.)?role\)/,
  ).filter((file) => /^src\/service\/(?!svc|protocol|calls)/.test(file));
  expect(readers.toSorted()).toEqual(ROLE_READERS);
});

test("protocol, executors and the service's api import nothing that has an effect", () => {
  const forbidden = edges.filter(({ from, to }) => {
    const pure = PURE[roomOf(from)];
    return pure !== undefined && !to.startsWith("src/") && !pure.includes(to);
  });
  expect(forbidden).toEqual([]);
});

test("a package that one place owns is named only there", () => {
  const strays = edges.filter(({ from, to }) => {
    const owners =
      OWNED[
        to
          .split("/")
          .slice(0, to.startsWith("@") ? 2 : 1)
          .join("/")
      ];
    return owners !== undefined && !owners.some((owner) => from.startsWith(owner));
  });
  expect(strays).toEqual([]);
});

test("executors read no clock, no chance, no process and no network", () => {
  expect(
    findWritten(
      /\b(Date\.now|new Date\(\)|Math\.random|performance\.|randomUUID|set(Timeout|Interval|Immediate)|process\.|fetch\()/,
      "turnd/daemon/executors",
    ),
  ).toEqual([]);
});

/**
 * The sub-rooms of executors: each may import itself and those after it. `cli` is what stands in the folder of a CLI
 * itself, such as its adapter.
 */
const EXECUTOR_ORDER = [
  "registry",
  "cli",
  "cli/app-server",
  "cli/server",
  "cli/translate",
  "cli/failures",
  "cli/records",
  "cli/config",
  "providers",
  "classification",
  "drift",
  "secrets",
  "streaming",
  "contract",
];

test("the sub-rooms of executors import one another one way", () => {
  const placeOf = (path: string): number => {
    const [folder = "", ...rest] = path.replace("src/turnd/daemon/executors/", "").split("/");
    const isCli = files.includes(`src/turnd/daemon/executors/${folder}/adapter.ts`);
    const room = rest.length === 0 ? "registry" : !isCli ? folder : rest.length === 1 ? "cli" : `cli/${rest[0]}`;
    return EXECUTOR_ORDER.indexOf(room);
  };
  const within = edges.filter(({ from, to }) => [from, to].every((path) => roomOf(path) === "turnd/daemon/executors"));
  expect(within.length).toBeGreaterThan(100);
  expect(within.filter(({ from, to }) => placeOf(from) < 0 || placeOf(to) < placeOf(from))).toEqual([]);
});

test("one executor's folder never imports another's", () => {
  const own = new Set(
    files.flatMap((file) => /^src\/turnd\/daemon\/executors\/([^/]+)\/adapter\.ts$/.exec(file)?.[1] ?? []),
  );
  expect(own.size).toBeGreaterThan(1);
  const folderOf = (path: string): string | undefined => {
    const folder = /^src\/turnd\/daemon\/executors\/([^/]+)\//.exec(path)?.[1];
    return folder !== undefined && own.has(folder) ? folder : undefined;
  };
  const forbidden = edges.filter(({ from, to }) => {
    const [one, other] = [folderOf(from), folderOf(to)];
    return one !== undefined && other !== undefined && one !== other;
  });
  expect(forbidden).toEqual([]);
});

test("only the main files touch process.env and process.exit", () => {
  const mains = [
    "src/scripted-model/main.ts",
    "src/service/main.ts",
    "src/service/svc/main.ts",
    "src/turnd/program.ts",
  ];
  expect(findWritten(/\bprocess\.(env|exit)\b/).toSorted()).toEqual(mains);
});

/** Every file of turnd that starts a process, and as whom. Whatever else is done as the CLIs' user is a task of `startAsUser`. */
const STARTERS = [
  // As turnd's own user: what takes away orphans.
  "src/turnd/daemon/doctor/processes.ts",
  // A keeper, as turnd's own user; what it runs as the CLIs' ends with it.
  "src/turnd/daemon/process/keeper/keeper.ts",
  "src/turnd/daemon/process/keeper/piped-keeper.ts",
  // The starter, as turnd's own user.
  "src/turnd/daemon/process/starter/starter.ts",
  // `sandbox/helper`.
  "src/turnd/daemon/process/user-process.ts",
  // flock, as turnd's own user.
  "src/turnd/daemon/storage/lock.ts",
];

test("turnd starts processes in known places only, and one of them does all as the CLIs' user besides keepers", () => {
  const started = edges.filter(
    ({ from, to }) => from.startsWith("src/turnd/daemon/") && /^(node:child_process|node:cluster|execa)$/.test(to),
  );
  expect([...new Set(started.map(({ from }) => from))].toSorted()).toEqual(STARTERS);
  // Commands of keepers: they switch users by themselves.
  const switching = files.filter(
    (file) => file.startsWith("src/turnd/daemon/") && /\basUser\(/.test(sources.get(file) ?? ""),
  );
  expect(switching.toSorted()).toEqual([
    "src/turnd/daemon/process/keeper/keeper.ts",
    "src/turnd/daemon/process/run-as.ts",
    "src/turnd/daemon/process/server/relay.ts",
    "src/turnd/daemon/terminal/relay.ts",
  ]);
});

test("what is done as the CLIs' user and not in a CLI's place starts no program: a tool could trace it", async () => {
  for (const name of ["file-tree", "write-home", "work-on-files"]) {
    const text = (await readFile(join("sandbox", name), "utf8")).replace(/(^|\s)#.*$/gm, "");
    expect([name, /\b(system|exec|fork|qx)\b|'-\||'\|-'/.exec(text)?.[0]]).toEqual([name, undefined]);
  }
});

test("turn.json is written at a turn's admission and by the turn's owner only", () => {
  const writers = findWritten(/\b(write|draft)TurnFile\b/).map((file) => file.replace("src/turnd/daemon/turns/", ""));
  expect(writers.toSorted()).toEqual(["lifecycle/turn-file.ts", "lifecycle/turn.ts", "store/turn-store.ts"]);
});

test("the only index.ts are that of protocol and that of the client's package, which no file imports", () => {
  const indexes = files.filter((file) => file.endsWith("/index.ts"));
  expect(indexes.toSorted()).toEqual(["src/turnd/client/index.ts", "src/turnd/protocol/index.ts"]);
  expect(edges.filter(({ to }) => to === "src/turnd/client/index.ts")).toEqual([]);
});

/** dependency-cruiser reads TypeScript through swc: typescript 7 has no API in JavaScript. */
async function cruiseSources(): Promise<ICruiseResult["modules"]> {
  const { output } = await cruise(["src"], {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
  });
  if (typeof output === "string") throw new Error(`dependency-cruiser gave text instead of a result: ${output}`);
  return output.modules.filter(({ source }) => source.startsWith("src/"));
}

/** The edges that are left when those of files that import nothing, or are imported by none, are taken away again and again. */
function inCircles(all: readonly Edge[]): readonly Edge[] {
  const importing = new Set(all.map(({ from }) => from));
  const imported = new Set(all.map(({ to }) => to));
  const left = all.filter(({ from, to }) => imported.has(from) && importing.has(to));
  return left.length === all.length ? all : inCircles(left);
}

function edgesOf({ source, dependencies }: ICruiseResult["modules"][number]): Edge[] {
  return dependencies.map((dependency) => {
    if (dependency.resolved.startsWith("src/")) return { from: source, to: dependency.resolved };
    return { from: source, to: dependency.coreModule ? `node:${dependency.module}` : dependency.module };
  });
}

function roomOf(path: string): string {
  const [, program = "", room = "", inner = "", ...rest] = path.split("/");
  const isFile = inner === "";
  if (program === "kit") return `kit/${room.replace(/\.ts$/, "")}`;
  if (program === "service") {
    // They wire the rooms, as main.ts and service.ts do.
    if (room === "serve" || room === "commands") return program;
    if (isFile) return room === "version.ts" ? "service/version" : program;
    return `service/${room}`;
  }
  if (program !== "turnd") return program;
  if (isFile) return program;
  if (room === "commands" && inner === "client") return "turnd/commands/client";
  if (room !== "daemon") return `turnd/${room}`;
  const name = inner.replace(/\.ts$/, "");
  if (rest.length > 0) return `turnd/daemon/${name}`;
  return `turnd/daemon/${name === "settings-schema" || name === "passed-variables" ? "settings" : name}`;
}

function findWritten(pattern: RegExp, room?: string): string[] {
  return files.filter((file) => (room === undefined || roomOf(file) === room) && pattern.test(sources.get(file) ?? ""));
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "$1");
}
