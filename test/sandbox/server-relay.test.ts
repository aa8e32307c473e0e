import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const START = {
  id: "greeting",
  start: { secrets: { KEY: "a-key" }, password: "PASSWORD", user: "user", lists: { permission: "/permission" } },
};

// oxlint-disable-next-line typescript/no-explicit-any -- what a test expects of a line it looks at
type Line = Record<string, any>;

/** A relay before a server that a test tells what to do. */
async function relay() {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "stdout.jsonl");
  const file = openSync(path, "a", 0o600);
  const given = join(directory, "given.json");
  const program = join(REPOSITORY, "test/programs/fake-http-server.mjs");
  const child = execa(
    process.execPath,
    [join(REPOSITORY, "sandbox/server-relay.mjs"), process.execPath, program, given],
    {
      stdin: "pipe",
      stdout: { file: path, append: true },
      stderr: "ignore",
      reject: false,
      extendEnv: false,
      env: { PATH: "/usr/bin:/bin" },
    },
  );
  closeSync(file);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await child;
  });
  const lines = (): Line[] =>
    readFileSync(path, "utf8")
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
  const say = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  let count = 0;
  async function answerOf(id: string): Promise<Line> {
    return waitFor(`the answer to ${id}`, () => lines().find((line) => line["id"] === id));
  }
  async function ask(message: object): Promise<Line> {
    count += 1;
    const id = `request-${count}`;
    say({ id, ...message });
    return answerOf(id);
  }
  const post = (to: string, body: object = {}): Promise<Line> => ask({ method: "POST", path: to, body });
  say(START);
  await answerOf("greeting");
  return { child, say, ask, post, answerOf, lines, given: () => JSON.parse(readFileSync(given, "utf8")) as Line };
}

const syncs = (lines: readonly Line[]): number[] => lines.flatMap(({ sync }) => (sync === undefined ? [] : [sync.seq]));

test("a server is started when it is greeted, and its keys and password stand nowhere but in its stdin", async () => {
  const { lines, given, answerOf } = await relay();
  expect(await answerOf("greeting")).toMatchObject({ status: 200, body: { version: "9.9.9", isAdopted: false } });
  const { secrets, argv, env } = given();
  expect(secrets).toEqual({ KEY: "a-key", PASSWORD: expect.stringMatching(/^[\w-]{32}$/) });
  expect(JSON.stringify([argv, env, lines()])).not.toContain("a-key");
  expect(JSON.stringify([argv, env, lines()])).not.toContain(secrets.PASSWORD);
  await waitFor("its other line", () => lines().some(({ printed }) => printed === "and this"));
});

// Law: at most once.
test("a request that is said again is not made again, and is answered again", async () => {
  const { say, ask, lines } = await relay();
  const again = { id: "twice", method: "GET", path: "/page" };
  say(again);
  await waitFor("an answer", () => lines().some(({ id }) => id === "twice"));
  say(again);
  const answers = (): Line[] => lines().filter(({ id }) => id === "twice");
  await waitFor("the same answer", () => answers().length === 2);
  expect(answers()[1]).toMatchObject({ status: 200, body: "<html>" });
  expect((await ask({ method: "GET", path: "/seen" }))["body"]).toMatchObject({ "/page": 1 });
  say(START);
  await waitFor("a second greeting", () => lines().filter(({ id }) => id === "greeting").length === 2);
});

test("of an answer only the members that are asked for are kept; a line that is none is passed over", async () => {
  const { child, ask } = await relay();
  child.stdin.write('{"id":"cut\n');
  const kept = await ask({ method: "POST", path: "/send", body: { type: "odd" }, keep: ["done"] });
  expect(kept["body"]).toEqual({ done: true });
  expect(await ask({ method: "GET", path: "/nothing" })).toMatchObject({
    status: 404,
    body: { name: "NotFoundError" },
  });
  expect(await ask({ ping: true })).toMatchObject({ status: 200 });
});

test("what is stored comes once, with its number; signs of life do not come", async () => {
  const { post, lines } = await relay();
  await post("/store", { session: "a", type: "session.created" });
  await post("/send", { type: "server.heartbeat" });
  await post("/send", { type: "session.idle", properties: { sessionID: "a" } });
  await waitFor("the last", () => lines().some(({ event }) => event?.type === "session.idle"));
  expect(lines().flatMap(({ sync, event }) => ((sync ?? event === undefined) ? [] : [event.type]))).toEqual([
    "session.idle",
  ]);
  expect(lines().flatMap(({ sync }) => (sync === undefined ? [] : [sync.type]))).toEqual(["session.created.1"]);
});

// Law: nothing printed is dropped.
test("what the stream lacks is asked for, and stands in its place", async () => {
  const { post, lines } = await relay();
  await post("/store", { session: "a", type: "session.created" });
  await post("/store", { session: "a", isLost: true });
  await post("/store", { session: "a", isLost: true });
  await post("/store", { session: "a" });
  await waitFor("the fourth", () => syncs(lines()).includes(3));
  expect(syncs(lines())).toEqual([0, 1, 2, 3]);
});

test("a stream that broke off is taken up again, with what was missed and what waits for a person", async () => {
  const { post, lines } = await relay();
  await post("/store", { session: "a", type: "session.created" });
  await waitFor("the first", () => syncs(lines()).length === 1);
  await post("/drop");
  await post("/store", { session: "a", isLost: true });
  await post("/store", { session: "b", type: "session.created", info: { parentID: "a" }, isLost: true });
  await post("/store", { session: "other", type: "session.created", isLost: true });
  await waitFor("what waits", () => lines().some(({ lists }) => lists !== undefined));
  expect(lines().find(({ lists }) => lists !== undefined)).toMatchObject({ lists: { permission: [{ id: "per_1" }] } });
  expect(lines().filter(({ note }) => note !== undefined)).toMatchObject([{ note: "reconnected" }]);
  const changes = lines().flatMap(({ sync }) => (sync === undefined ? [] : [[sync.aggregateID, sync.seq]]));
  expect(changes).toEqual([
    ["a", 0],
    ["a", 1],
    ["b", 0],
  ]);
});

test("to settle waits until nothing runs, and has the stream completed", async () => {
  const { post, ask, say, lines } = await relay();
  await post("/store", { session: "a", type: "session.created" });
  await waitFor("the first", () => syncs(lines()).length === 1);
  await post("/busy", { a: { type: "busy" } });
  say({ id: "settle", settle: { status: "/session/status" } });
  await post("/store", { session: "a", isLost: true });
  expect(lines().some(({ id }) => id === "settle")).toBe(false);
  await post("/busy", {});
  const settled = await waitFor("it to settle", () => lines().find(({ id }) => id === "settle"));
  expect(settled).toMatchObject({ status: 200, body: { busy: [] } });
  expect(syncs(lines())).toEqual([0, 1]);
  await ask({ ping: true });
});

test("what began before the stream was there is asked for by its number", async () => {
  const { post, ask, lines } = await relay();
  for (const isLost of [true, true, false]) await post("/store", { session: "a", isLost });
  await waitFor("the third", () => syncs(lines()).includes(2));
  await ask({ settle: { status: "/session/status", from: { a: 0 } } });
  expect(syncs(lines())).toEqual([2, 1]);
});

// Law: nothing outlives its turn.
test.each([
  [
    "by itself",
    async ({ post }: Awaited<ReturnType<typeof relay>>) => void post("/exit", { code: 3 }),
    { exitCode: 3 },
  ],
  [
    "when it is asked to",
    async ({ child }: Awaited<ReturnType<typeof relay>>) => void child.kill("SIGTERM"),
    { signal: "SIGTERM" },
  ],
])("ends as its server has ended: %s", async (_how, end, expected) => {
  const started = await relay();
  await end(started);
  expect(await started.child).toMatchObject(expected);
});
