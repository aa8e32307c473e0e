import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { changeHome } from "../../../../src/turnd/daemon/process/user-files/change-home.ts";
import { listProcesses, readArguments } from "../../../../src/turnd/daemon/process/keeper/process-table.ts";
import { CLI_USER, giveToUser, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const writer = { runAs: CLI_USER };

test("a home that takes for ever to be written is given up with its writer when the signal aborts", async () => {
  const stopping = new AbortController();
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  const commands = Array.from({ length: 5_000 }, (_, at) => ({ do: "make" as const, path: `${at}/below` }));
  const changing = changeHome(writer, home, commands, stopping.signal);
  const helpers = (): number[] => helpersOf(process.pid);
  await waitFor("the writer's first work", () => existsSync(join(home, "0/below")));
  // A tool of the same user can stop it.
  for (const pid of helpers().flatMap(helpersOf)) process.kill(pid, "SIGSTOP");
  stopping.abort(new Error("enough"));
  await expect(changing).rejects.toThrow("enough");
  expect(helpers()).toEqual([]);
});

function helpersOf(parent: number): number[] {
  return listProcesses().flatMap(({ pid, parentPid }) =>
    parentPid === parent && readArguments(pid)?.startsWith("turnd-helper") === true ? [pid] : [],
  );
}

test.runIf(!CLI_USER.isSelf)(
  "a home is entered with its user's rights: no link leads where that user could not go",
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const inner = userDirectory(join(directory, "roots/inner"));
    chmodSync(join(directory, "roots"), 0o700);
    const home = join(userDirectory(join(directory, "users")), "home");
    symlinkSync(inner, home);
    await expect(changeHome(writer, home, [{ do: "make", path: "tmp" }])).rejects.toThrow("Permission denied");
    expect(existsSync(join(inner, "tmp"))).toBe(false);
  },
);

test("a home that a tool has closed is opened again", async () => {
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  mkdirSync(join(home, "tmp"));
  chmodSync(home, 0);
  await changeHome(writer, home, [{ do: "make", path: "made" }]);
  expect(existsSync(join(home, "made"))).toBe(true);
});

function homeWith(files: Readonly<Record<string, string>>): string {
  const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true });
    writeFileSync(join(home, name), content);
  }
  giveToUser(home);
  return home;
}

const listed = (home: string): string[] => readdirSync(home, { recursive: true, encoding: "utf8" }).toSorted();

test("of a directory stays what is named; what the CLI makes goes unsaid, all else is reported", async () => {
  const home = homeWith({
    "cli/kept/2026/a.jsonl": "a",
    "cli/state_5.sqlite": "",
    "cli/state_5.sqlite-wal": "",
    "cli/skills/planted/SKILL.md": "x",
    "cli/own": "",
  });
  execFileSync("mkfifo", [join(home, "cli/queue_1.sqlite"), join(home, "cli/kept/2026/b.jsonl")]);
  symlinkSync("/dev/zero", join(home, "cli/kept/c.jsonl"));
  writeFileSync(join(home, "cli/odd\nname\u001b"), "");
  giveToUser(home);
  const made = ["state_5*", "queue_1*", "own"];
  const removed = await changeHome(writer, home, [{ do: "keep_only", path: "cli", names: ["kept", "id"], made }]);
  expect(removed.toSorted()).toEqual([
    "cli/kept/2026/b.jsonl",
    "cli/kept/c.jsonl",
    "cli/odd?name?",
    "cli/queue_1.sqlite",
    "cli/skills",
  ]);
  expect(listed(home)).toEqual(["cli", "cli/kept", "cli/kept/2026", "cli/kept/2026/a.jsonl"]);
});

test("a link, a pipe or a socket is removed on the way to a path and below it; what is closed to its owner is opened", async () => {
  const home = homeWith({ "data/deep/file": "x" });
  symlinkSync("/etc", join(home, "config"));
  execFileSync("mkfifo", [join(home, "data/pipe")]);
  giveToUser(home);
  chmodSync(join(home, "data/deep/file"), 0o4000);
  chmodSync(join(home, "data/deep"), 0);
  const paths = ["config/git/config", "data", "missing/one"];
  const removed = await changeHome(
    writer,
    home,
    paths.map((path) => ({ do: "only_plain", path }) as const),
  );
  expect(removed.toSorted()).toEqual(["config", "data/pipe"]);
  expect(readFileSync(join(home, "data/deep/file"), "utf8")).toBe("x");
  expect(statSync(join(home, "data/deep")).mode & 0o777).toBe(0o700);
  expect(existsSync("/etc/passwd")).toBe(true);
});

test("no more than twenty names of what others have made are reported", async () => {
  const home = homeWith(Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`cli/${index}`, ""])));
  expect(await changeHome(writer, home, [{ do: "keep_only", path: "cli", names: [], made: [] }])).toHaveLength(20);
  expect(listed(home)).toEqual(["cli"]);
});

test("a directory in place of a file that is written, or of its draft, does not keep it from being written", async () => {
  const home = homeWith({ "cli/config/x": "", "cli/config.new/x": "" });
  await changeHome(writer, home, [{ do: "write", path: "cli/config", content: "mine" }]);
  expect(readFileSync(join(home, "cli/config"), "utf8")).toBe("mine");
});

const META = {
  typePath: "type",
  type: "meta",
  path: "payload",
  names: ["id", "at"],
  dropped: ["text"],
  set: { agents: "off" },
};
const SETTINGS = { typePath: "payload.type", type: "set", path: "payload.settings", names: ["model"], dropped: [] };

test.each([
  ["as the CLI writes it", '{"type":"meta","payload":{"text":"t","id":1,"agents":"on","at":[1,{"id":2}]}}', "meta"],
  [
    "with spaces and another order",
    '{ "payload" : {"id" :1, "at": [1,{"id":2}], "tools":[]} , "type":"meta"}',
    "moved",
  ],
  ["with an escaped type", '{"type":"\\u006deta","payload":{"id":1,"at":[1,{"id":2}],"too\\u006cs":[]}}', "escaped"],
  [
    "of two names the last",
    '{"type":"x","type":"meta","payload":{},"payload":{"id":0,"id":1,"at":[1,{"id":2}]}}',
    "last",
  ],
])("a line of the type keeps the members that it may have: %s", async (_, line, kind) => {
  const around = '{"type":"other","payload":{"tools":[1]}}\n';
  const home = homeWith({ "s/a.jsonl": `${around}${line}\n${around}` });
  const removed = await changeHome(writer, home, [{ do: "tidy_lines", path: "s", rules: [META, SETTINGS] }]);
  const [first, changed = "", last, end] = readFileSync(join(home, "s/a.jsonl"), "utf8").split("\n");
  expect([`${first}\n`, `${last}\n`, end]).toEqual([around, around, ""]);
  expect(JSON.parse(changed)).toEqual({ type: "meta", payload: { id: 1, at: [1, { id: 2 }], agents: "off" } });
  expect(removed).toEqual(kind === "moved" || kind === "escaped" ? ["tools in s/a.jsonl"] : []);
  const before = statSync(join(home, "s/a.jsonl")).ino;
  await changeHome(writer, home, [{ do: "tidy_lines", path: "s", rules: [META, SETTINGS] }]);
  expect(statSync(join(home, "s/a.jsonl")).ino).toBe(before);
});

test("an object deeper in a line is found, strings with brackets and quotes are passed over, a last line needs no end", async () => {
  const line = { payload: { type: "set", a: '}]"\\', settings: { model: "m", text: "\u0001x" } } };
  const home = homeWith({
    "s/2026/a.jsonl": JSON.stringify(line),
    "s/a.jsonl.zst": "x",
    "s/b.jsonl": "no JSON\nset{\n",
  });
  const removed = await changeHome(writer, home, [{ do: "tidy_lines", path: "s", rules: [SETTINGS] }]);
  expect(removed.toSorted()).toEqual(["s/a.jsonl.zst", "text in s/2026/a.jsonl"]);
  const settings = { model: "m" };
  expect(JSON.parse(readFileSync(join(home, "s/2026/a.jsonl"), "utf8"))).toEqual({
    payload: { ...line.payload, settings },
  });
  expect(readFileSync(join(home, "s/b.jsonl"), "utf8")).toBe("no JSON\nset{\n");
});

test("lines across many blocks are changed where they are; a line without an end is moved aside with its file", async () => {
  const filler = `${JSON.stringify({ type: "other", text: "x".repeat(700_000) })}\n`;
  const meta = '{"type":"meta","payload":{"id":1,"tools":[]}}\n';
  const home = homeWith({ "s/a.jsonl": `${meta}${filler.repeat(5)}${meta}${filler}` });
  const path = join(home, "s/endless.jsonl");
  writeFileSync(path, "meta");
  truncateSync(path, 1_000_000_000);
  giveToUser(home);
  const removed = await changeHome(writer, home, [{ do: "tidy_lines", path: "s", rules: [META] }]);
  expect(new Set(removed)).toEqual(new Set(["tools in s/a.jsonl", "s/endless.jsonl"]));
  const tidied = '{"type":"meta","payload":{"id":1,"agents":"off"}}\n';
  expect(readFileSync(join(home, "s/a.jsonl"), "utf8")).toBe(`${tidied}${filler.repeat(5)}${tidied}${filler}`);
  expect(listed(home)).toContain("s/endless.jsonl.aside-1");
});

test("a file with more of a type than any CLI writes is moved aside, and no other", { timeout: 60_000 }, async () => {
  const metaOf = (members: number): string => `{"type":"meta","payload":{${'"a":0,'.repeat(members)}"id":1}}\n`;
  const home = homeWith({
    "s/wide.jsonl": metaOf(5_000_000),
    "s/fine.jsonl": metaOf(2).repeat(1_000),
  });
  const removed = await changeHome(writer, home, [{ do: "tidy_lines", path: "s", rules: [META] }]);
  expect(new Set(removed)).toEqual(new Set(["a in s/fine.jsonl", "s/wide.jsonl"]));
  expect(readFileSync(join(home, "s/fine.jsonl"), "utf8")).toBe(
    '{"type":"meta","payload":{"id":1,"agents":"off"}}\n'.repeat(1_000),
  );
});

test("what stands where a directory is to be, or on the way, is removed and reported, and nothing is changed at its end", async () => {
  const home = homeWith({ data: "x" });
  const elsewhere = userDirectory(join(temporaryDirectory(onTestFinished), "elsewhere"));
  for (const name of ["bin", "kept.db", "tmp"]) writeFileSync(join(elsewhere, name), "x");
  for (const name of ["cache", "state", "config", "gone"]) symlinkSync(elsewhere, join(home, name));
  execFileSync("mkfifo", [join(home, "pipe")]);
  giveToUser(home);
  const removed = await changeHome(writer, home, [
    { do: "empty", path: "cache/bin" },
    { do: "set_aside", path: "state/kept.db" },
    { do: "remove", path: "gone/tmp" },
    { do: "make", path: "data/cli" },
    { do: "make", path: "pipe" },
    { do: "write", path: "config/own", content: "x" },
  ]);
  expect(removed).toEqual(["cache", "state", "gone", "data", "pipe", "config"]);
  expect(listed(home)).toEqual(["cache", "cache/bin", "config", "config/own", "data", "data/cli", "pipe"]);
  expect(readdirSync(elsewhere).toSorted()).toEqual(["bin", "kept.db", "tmp"]);
});
