import { expect, test } from "vitest";
import { FindBody } from "../../../../src/service/protocol/knowledge-queries.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { makePerson, openDesk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";

/** More than the limit of a search. */
const COSTLY = { pattern: "(x{1,200}){1,5}y", use_regex: true };

// PostgreSQL alone: lines come from the object store, and no engine has a part in them.
test("a file is opened in windows of at most 1 800 lines, and found in as long as two seconds", async () => {
  const desk = await openDesk(await freshStorage("postgres"), { limits: { maxFileBytes: 10_000_000 } });
  const { ask, path, kbId } = desk;
  const lines = Array.from({ length: 2_000 }, (_, at) =>
    at === 1_500 ? "the needle is here" : `line ${at + 1} ${"x".repeat(400)}`,
  );
  const id = await desk.add("long.md", `${lines.join("\n")}\n`);
  const { body } = await ask("POST", `${path}/documents/parse`, [id]);
  await desk.ended(body.task_id);
  const file = `/api/knowledge/databases/external/${kbId}/files/${id}`;
  const open = (query: string) => ask("GET", `${file}/open?${query}`);
  expect((await open("limit=1801")).status).toBe(422);
  expect((await open("offset=-1")).status).toBe(422);
  const first = (await open("limit=1800")).body;
  expect(first).toMatchObject({
    start_line: 1,
    end_line: 1_800,
    window_size: 1_800,
    total_lines: 2_000,
    next_offset: 1_800,
  });
  expect(first).toMatchObject({ has_more_before: false, has_more_after: true });
  const rest = (await open(`limit=1800&offset=${first.next_offset}`)).body;
  expect(rest).toMatchObject({ start_line: 1_801, end_line: 2_000, has_more_after: false, next_offset: null });
  expect(`${first.content}\n${rest.content}`).toBe(lines.join("\n"));
  expect(await open("offset=2000")).toMatchObject({
    status: 200,
    body: { start_line: 0, end_line: 0, window_size: 0, content: "", has_more_before: true, has_more_after: false },
  });
  expect((await open("offset=1500&limit=1&numbered=true")).body.content).toBe("1501\tthe needle is here");

  const find = (more: object) => ask("POST", `${file}/find`, more);
  for (const wrong of [
    {},
    { patterns: [] },
    { patterns: ["x"], pattern: "x" },
    { patterns: ["x".repeat(501)] },
    { pattern: "" },
  ])
    expect((await find(wrong)).status).toBe(422);
  const invalid = await find({ pattern: "(?=x)", use_regex: true });
  expect(invalid).toMatchObject({ status: 422, body: { detail: { code: "pattern_invalid" } } });
  const startedAt = performance.now();
  const costly = find(COSTLY);
  // Another's is answered meanwhile, in another thread.
  const other = await makePerson(desk.storage, "superadmin");
  const found = await ask("POST", `${file}/find`, { patterns: ["NEEDLE"], window_size: 3 }, { token: other.token });
  expect(found.body).toMatchObject({
    semantic: false,
    match_mode: "keyword",
    total_matches: 1,
    windows: [{ start_line: 1_500, end_line: 1_502, matched_lines: [1_501] }],
  });
  const [window] = found.body.windows;
  expect((await open(`offset=${window.start_line - 1}&limit=3`)).body.content).toBe(window.content);
  expect(await costly).toMatchObject({ status: 422, body: { detail: { code: "pattern_too_expensive" } } });
  // Two seconds; the limit is for a loaded machine.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
  expect((await find({ pattern: "needle", use_regex: true, case_sensitive: true })).body.total_matches).toBe(1);
});

test("costly searches of a user hold up nobody else's, are refused beyond a share, and end when their callers hang up", async () => {
  const desk = await openDesk(await freshStorage("postgres"), {
    limits: { maxFileBytes: 10_000_000, searchesOfUser: 8 },
  });
  const id = await desk.add("long.md", `the needle is here\n${`${"x".repeat(400)}\n`.repeat(2_000)}`);
  await desk.ended((await desk.ask("POST", `${desk.path}/documents/parse`, [id])).body.task_id);
  const url = await desk.app.listen({ port: 0, host: "127.0.0.1" });
  const [reader, other] = [await makePerson(desk.storage, "superadmin"), await makePerson(desk.storage, "superadmin")];
  const hangUp = new AbortController();
  const ended: (number | "gone")[] = [];
  const find = async (token: string, body: object, signal?: AbortSignal) =>
    fetch(`${url}/api/knowledge/databases/external/${desk.kbId}/files/${id}/find`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
  const costly = Array.from({ length: 20 }, async () =>
    find(reader.token, COSTLY, hangUp.signal).then(
      ({ status }) => ended.push(status),
      () => ended.push("gone"),
    ),
  );
  await waitFor("the refusal of what is beyond the share", () => ended.filter((each) => each === 429).length === 12);
  const needle = { pattern: "needle" };
  // The start of its thread is part of a search's time.
  await waitFor("another's answer", async () => (await find(other.token, needle)).status === 200);
  // One after the other: of eight some still wait.
  expect(ended.length).toBeLessThan(20);
  hangUp.abort();
  await Promise.all(costly);
  expect(ended.filter((each) => each === "gone").length).toBeGreaterThan(0);
  await waitFor("a place of their own", async () => (await find(reader.token, needle)).status === 200);
});

test("a search that nobody waits for any more gives its reason at once, and those behind it never begin", async () => {
  const desk = await openDesk(await freshStorage("postgres"), {
    limits: { maxFileBytes: 10_000_000, searchesOfUser: 8 },
  });
  const id = await desk.add("long.md", `the needle is here\n${`${"x".repeat(400)}\n`.repeat(2_000)}`);
  await desk.ended((await desk.ask("POST", `${desk.path}/documents/parse`, [id])).body.task_id);
  const base = await desk.storage.db
    .selectFrom("knowledge_base")
    .selectAll()
    .where("id", "=", desk.kbId)
    .executeTakeFirstOrThrow();
  const gone = new AbortController();
  const { userId } = desk.admin.caller;
  const find = (body: object, signal: AbortSignal) =>
    desk.knowledge.find(base, id, FindBody.parse(body), { userId, signal });
  const waits = Array.from({ length: 8 }, () => find(COSTLY, gone.signal).catch((error: unknown) => error));
  gone.abort(new Error("the caller has gone"));
  // None of them has taken the time of a search, which would be its end.
  expect(await Promise.all(waits)).toEqual(Array.from({ length: 8 }, () => new Error("the caller has gone")));
  const found = await find({ pattern: "needle" }, new AbortController().signal);
  expect(found.total_matches).toBe(1);
});
