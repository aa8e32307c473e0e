import { createParser } from "eventsource-parser";
import { expect, test } from "vitest";
import type { ShellOutput } from "../../../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "../../../harness/daemon.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../harness/shared-daemon.ts";
import { runLine, startShell } from "../../../harness/terminal.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const pathOf = (id: string): string => `/v1/shell/sessions/${id}/output`;

async function read(turnd: TestDaemon, id: string, query = ""): Promise<ShellOutput> {
  return (await turnd.request("GET", `${pathOf(id)}${query}`)).body;
}

interface OutputFrame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly output: ShellOutput;
}

/** Reads a shell's output as server-sent events, to its end or until a text has come. */
async function stream(turnd: TestDaemon, id: string, until?: string, headers: Record<string, string> = {}) {
  const stop = new AbortController();
  const response = await fetch(`${turnd.url}${pathOf(id)}`, {
    headers: { accept: "text/event-stream", ...headers },
    signal: stop.signal,
  });
  const frames: OutputFrame[] = [];
  const parser = createParser({
    onEvent: ({ id: frameId, event, data }) => frames.push({ id: frameId, event, output: JSON.parse(data) }),
  });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    if (until !== undefined && frames.some(({ output }) => output.data.includes(until))) break;
  }
  stop.abort();
  return { status: response.status, frames };
}

test("output is read from an offset on, without gap or overlap, and waits for a first byte", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "echo on''e", /\none\n/);
  const first = await read(turnd, id);
  expect(first).toMatchObject({ offset: 0, truncated: false, encoding: "text", ended: false });
  expect(Buffer.byteLength(first.data)).toBe(first.next_offset);
  const waiting = read(turnd, id, `?after=${first.next_offset}&wait_ms=60000`);
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, { text: "echo tw''o\r" });
  const next = await waiting;
  expect(next.offset).toBe(first.next_offset);
  expect(next.data.length).toBeGreaterThan(0);
  await waitFor("all", async () => (await read(turnd, id)).data.includes("two"));
  const all = await read(turnd, id);
  expect(all.data.startsWith(first.data + next.data)).toBe(true);
});

test("bytes that are no text come as base64 whole; text is cut between characters", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  // The first byte of a character alone, until the shell ends.
  await runLine(turnd, id, "stty -opost; PS1=; printf 'en''d:\\342'; read", /end:/);
  const half = await waitFor("the byte", async () => {
    const { data } = await read(turnd, id, "?encoding=base64");
    const bytes = Buffer.from(data, "base64");
    return bytes.at(-1) === 0xe2 && bytes;
  });
  const text = await read(turnd, id);
  expect(text.data.endsWith("end:")).toBe(true);
  expect(text.next_offset).toBe(half.length - 1);
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, { text: "\rexit\r" });
  const ended = await waitFor("the end", async () => {
    const output = await read(turnd, id);
    return output.ended && output;
  });
  expect(ended).toMatchObject({ exit: { code: 0, ended_by: "exit" } });
  expect(ended.data).toContain("end:\ufffd");
});

test("a wait for text goes on while only a part of a character has come", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "stty -opost -echo; PS1=; printf 'en''d:\\342'; read; printf '\\234\\223'; read", /end:/);
  const { next_offset: after } = await waitFor("the first byte", async () => {
    const text = await read(turnd, id);
    return (await read(turnd, id, `?after=${text.next_offset}&encoding=base64`)).data === "4g==" && text;
  });
  const startedAt = performance.now();
  expect(await read(turnd, id, `?after=${after}&wait_ms=1000`)).toMatchObject({ data: "", next_offset: after });
  expect(performance.now() - startedAt).toBeGreaterThan(900);
  const waiting = read(turnd, id, `?after=${after}&wait_ms=60000`);
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, { text: "\r" });
  expect(await waiting).toMatchObject({ data: "✓", offset: after, next_offset: after + 3 });
});

test("what the scrollback no longer holds is reported as lost", async () => {
  const turnd = await fakeDaemon({ TURND_SHELL_SCROLLBACK_BYTES: "131072" });
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "for i in {1..40000}; do echo line-$i; done; echo en''d", /\nend\n/);
  const cut = await read(turnd, id, "?after=10");
  expect(cut.truncated).toBe(true);
  expect(cut.offset).toBeGreaterThan(10);
  expect(cut.data).toMatch(/^line-\d+\r\n/);
  expect(cut.next_offset - cut.offset).toBeLessThanOrEqual(131_072);
  const { frames } = await stream(turnd, id, "end");
  expect(frames[0]?.output.truncated).toBe(true);
  expect(frames.slice(1).every(({ output }) => !output.truncated)).toBe(true);
});

test("server-sent events follow to the end and go on where a reader stopped", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  await runLine(turnd, id, "echo on''e", /\none\n/);
  const before = await stream(turnd, id, "one");
  expect(before.frames.every(({ event }) => event === "output")).toBe(true);
  const cursor = before.frames.at(-1)?.id ?? "";
  expect(Number(cursor)).toBe(before.frames.at(-1)?.output.next_offset);

  const following = stream(turnd, id, undefined, { "last-event-id": cursor });
  await turnd.request("POST", `/v1/shell/sessions/${id}/input`, { text: "echo tw''o; exit 5\r" });
  const { frames } = await following;
  expect(frames.at(-1)).toMatchObject({ event: "end", output: { ended: true, exit: { code: 5, ended_by: "exit" } } });
  expect(frames[0]?.output.offset).toBe(Number(cursor));
  const text = [...before.frames, ...frames].map(({ output }) => output.data).join("");
  expect(text).toBe((await read(turnd, id)).data);
  const last = frames.at(-1)?.id ?? "";
  expect((await stream(turnd, id, undefined, { "last-event-id": last })).status).toBe(204);
});

test("a cursor that is none, or beyond the end, is refused", async () => {
  const turnd = await sharedDaemon();
  const { session_id: id } = await startShell(turnd);
  const bad = await turnd.request("GET", `${pathOf(id)}?after=x`);
  expect([bad.status, bad.body.detail.code]).toEqual([422, "bad_cursor"]);
  const beyond = await turnd.request("GET", `${pathOf(id)}?after=1000000`);
  expect([beyond.status, beyond.body.detail.code]).toEqual([416, "cursor_beyond_end"]);
  expect(beyond.body.detail.next_offset).toBeLessThan(1_000_000);
});
