import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import type { LogSoFar } from "../../../../src/turnd/daemon/event-log/event-log.ts";
import { readEvents } from "../../../../src/turnd/daemon/event-log/read-events.ts";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { LoggedEvent } from "../../../../src/turnd/protocol/index.ts";
import { failingSyncs } from "../../../harness/failing-syncs.ts";
import { keepDiskQuick, linesOf, message, newPath, openLog } from "./open-log.ts";

test("every line is a logged event, and seq has no gaps", async () => {
  const path = newPath();
  const { log } = await openLog(path);
  await log.append([message("a"), message("b")]);
  await log.append([message("c")]);
  await log.close();
  const events = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => LoggedEvent.parse(JSON.parse(line)));
  expect(events.map((event) => event.seq)).toEqual([1, 2, 3]);
});

test("the digest is SHA-256 over the bytes of the file", async () => {
  const path = newPath();
  const { log } = await openLog(path);
  await log.append([message("äöü"), message("b")]);
  expect(log.digest()).toBe(createHash("sha256").update(readFileSync(path)).digest("hex"));
  await log.close();
});

test("a log torn at any byte of its last line goes on after the last whole one", async () => {
  const path = newPath();
  const { log } = await openLog(path);
  await log.append([message("first"), message("the last line, with ünïcödé")]);
  await log.close();
  const whole = readFileSync(path);
  const firstEnd = whole.indexOf(0x0a) + 1;
  for (let length = firstEnd; length < whole.length; length += 1) {
    writeFileSync(path, whole.subarray(0, length));
    const { log: again, tail } = await openLog(path);
    expect(again.lastSeq()).toBe(1);
    expect([tail.size(), tail.lastSeq()]).toEqual([firstEnd, 1]);
    await again.append([message("the last line, with ünïcödé")]);
    expect(again.digest()).toBe(createHash("sha256").update(whole).digest("hex"));
    await again.close();
    expect(readFileSync(path)).toEqual(whole);
  }
});

test("readers that attach at any place and time see every event after their cursor once", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  const signal = new AbortController().signal;
  const total = 400;
  async function read(afterSeq: number): Promise<void> {
    const seen: number[] = [];
    for await (const lines of readEvents(path, { afterSeq, tail, isFollowing: true, signal })) {
      seen.push(...lines.map((line) => line.seq));
    }
    expect(seen).toEqual(Array.from({ length: total - afterSeq }, (_, index) => afterSeq + index + 1));
  }
  const readers: Promise<void>[] = [];
  for (let seq = 1; seq <= total; seq += 1) {
    await log.append([message(`event ${seq} ${"x".repeat(seq * 7)}`)]);
    for (let reader = 0; reader < 3; reader += 1) readers.push(read(Math.floor((seq * reader) / 2)));
  }
  await log.close();
  expect(readers.length).toBeGreaterThanOrEqual(1_000);
  await Promise.all(readers);
});

test("a reader that does not follow ends after what is there", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  await log.append([message("a")]);
  const seen: string[] = [];
  const signal = new AbortController().signal;
  for await (const lines of readEvents(path, { afterSeq: 0, tail, isFollowing: false, signal })) {
    seen.push(...lines.map((line) => line.type));
  }
  expect(seen).toEqual(["message"]);
  await log.close();
});

test("the last event is on the disk, and the world in accord, before a reader sees it", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  let wasVisible: boolean | undefined;
  await log.appendLast(
    () => message("end"),
    () => (wasVisible = tail.lastSeq() > 0),
  );
  expect(wasVisible).toBe(false);
  expect(tail.lastSeq()).toBe(1);
  await log.close();
});

test("an end that the disk does not confirm is taken back, and logged once when it does", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  await log.append([message("before")]);
  const before = { bytes: readFileSync(path), digest: log.digest() };
  const sync = await failingSyncs(2);
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(
      log.appendLast(
        () => message("end"),
        () => {},
      ),
    ).rejects.toThrow("EIO");
    expect([log.lastSeq(), log.digest(), tail.lastSeq()]).toEqual([1, before.digest, 1]);
    expect(readFileSync(path)).toEqual(before.bytes);
  }
  await log.appendLast(
    () => message("end"),
    () => {},
  );
  expect(sync).toHaveBeenCalledTimes(3);
  await log.close();
  expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(2);
  expect([log.lastSeq(), tail.lastSeq()]).toEqual([2, 2]);
  expect(log.digest()).toBe(createHash("sha256").update(readFileSync(path)).digest("hex"));
});

test("appends that no caller waits for stand in the log in the order of the calls, whole, with one dense seq", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  const done: (Promise<void> | undefined)[] = [];
  for (let call = 0; call < 200; call += 1) {
    // Every other one is longer than what a log renders into at once.
    const text = "x".repeat(call % 2 === 0 ? 10 : 80_000);
    done.push(log.append([message(`${call} a ${text}`), message(`${call} b ${text}`)]));
  }
  let before: LogSoFar | undefined;
  const ended = log.appendLast(
    (soFar) => {
      before = soFar;
      return message("end");
    },
    () => {},
  );
  const closed = log.close();
  await Promise.all([...done, ended, closed]);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const events = lines.map((line) => LoggedEvent.parse(JSON.parse(line)));
  expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: 401 }, (_, index) => index + 1));
  const calls = events.map((event) => (event.type === "message" ? event.data.text.split(" x")[0] : undefined));
  expect(calls).toEqual([...Array.from({ length: 200 }, (_, call) => [`${call} a`, `${call} b`]).flat(), "end"]);
  const preceding = lines.slice(0, -1).map((line) => `${line}\n`);
  expect(before).toEqual({ events: 400, digest: createHash("sha256").update(preceding.join("")).digest("hex") });
  expect(tail.lastSeq()).toBe(401);
});

test("an append that fails leaves those behind it their place, and nothing comes after the last event", async () => {
  const path = newPath();
  const { log } = await openLog(path);
  const sync = await failingSyncs(1);
  const failed = log.appendLast(
    () => message("end"),
    () => {},
  );
  const behind = log.append([message("behind")]);
  await expect(failed).rejects.toThrow("EIO");
  await behind;
  expect(sync).toHaveBeenCalledTimes(1);
  const last = log.appendLast(
    () => message("end"),
    () => {},
  );
  const late = log.append([message("late")]);
  await last;
  await expect(late).rejects.toThrow("last event");
  await log.close();
  expect(readFileSync(path, "utf8").match(/"text":"[a-z]+"/g)).toEqual(['"text":"behind"', '"text":"end"']);
});

test("a secret never reaches the file, plain, in JSON, or in JSON within JSON", async () => {
  const path = newPath();
  const secret = 'sk-"quoted"\\and\\slashed';
  const { log } = await openLog(path, createRedactor([secret, "short", ""]));
  await log.append([message(secret), message(JSON.stringify({ key: secret })), message("short words stay")]);
  await log.close();
  const text = readFileSync(path, "utf8");
  expect(text).not.toContain("slashed");
  expect(text.match(/\[redacted\]/g)).toHaveLength(2);
  expect(text).toContain("short words stay");
});

test("what is no secret's string is logged as it is, and every line is JSON, whatever the secrets are", async () => {
  const path = newPath();
  // Numbers in the envelope, words of ours, and what a line is made of.
  const secrets = ["10485760", "message", "tool.ended", '"data":', "completed", "2026-11-21"];
  const { log } = await openLog(path, createRedactor(secrets));
  const input = { size: 10485760, path: "/workspace/a.ts", text: "10485760", message: true };
  const call = { tool_call_id: "c", name: "stat", kind: "mcp", input } as const;
  const long = "x".repeat(40_000);
  await log.append([
    { type: "tool.started", native: { line: 1, type: "message", id: "10485760" }, data: call },
    { type: "tool.ended", native: { line: 1 }, data: { ...call, status: "completed" } },
    message(`a message of ${long}`),
  ]);
  await log.close();
  const events = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => LoggedEvent.parse(JSON.parse(line)));
  const redacted = { size: 10485760, path: "/workspace/a.ts", text: "[redacted]", "[redacted]": true };
  expect(events).toMatchObject([
    { seq: 1, type: "tool.started", native: { type: "[redacted]", id: "[redacted]" }, data: { input: redacted } },
    { seq: 2, type: "tool.ended", data: { status: "completed", input: redacted } },
    { seq: 3, type: "message", at: "2026-11-21T08:00:00.000Z", data: { text: `a [redacted] of ${long}` } },
  ]);
});

test("the head of a line beyond the limit does not end with the beginning of a secret", async () => {
  const path = newPath();
  const { log } = await openLog(path, createRedactor(["sk-0123456789"]));
  const line = `${"x".repeat(1_000)} sk-01234`;
  await log.append([{ type: "record.unknown", native: { line: 1 }, data: { reason: "not_json", line } }]);
  await log.close();
  expect(JSON.parse(readFileSync(path, "utf8")).data.line).toBe(`${"x".repeat(1_000)} [redacted]`);
});

test("what a waiting reader was given stays what the file holds, whatever is appended after it", async () => {
  const path = newPath();
  const { log, tail } = await openLog(path);
  const lines: Buffer[] = [];
  const reading = (async () => {
    const options = { afterSeq: 0, tail, isFollowing: true, signal: new AbortController().signal };
    for await (const batch of readEvents(path, options)) lines.push(...batch.map(({ bytes }) => bytes));
  })();
  for (const text of ["one", "two", "x".repeat(70_000), "four"]) {
    // The next append writes over the memory that rendered the one before.
    await vi.waitFor(() => expect(lines.length).toBe(log.lastSeq()));
    await log.append([message(text)]);
  }
  await log.close();
  await reading;
  expect(lines.map((line) => `${line.toString()}\n`).join("")).toBe(readFileSync(path, "utf8"));
});

test("what is appended while another append is being written comes behind it, and is waited for", async () => {
  keepDiskQuick();
  const path = newPath();
  const { log } = await openLog(path);
  const long = log.append([message("x".repeat(80_000))]);
  const short = log.append([message("behind")]);
  expect([long, short]).toEqual([expect.any(Promise), expect.any(Promise)]);
  await short;
  expect(linesOf(path).map((line) => JSON.parse(line).seq)).toEqual([1, 2]);
  expect(log.append([message("at once again")])).toBeUndefined();
  expect(linesOf(path)).toHaveLength(3);
  await log.close();
});
