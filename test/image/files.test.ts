import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { chunksOf } from "../../src/turnd/client/transport.ts";
import { createTurndClient, type TurndClient } from "../../src/turnd/client/turnd-client.ts";
import { Problem, UrlTicket } from "../../src/turnd/protocol/index.ts";
import { HAS_CHROMIUM, launchBrowser, visit } from "../harness/browser.ts";
import { describeImage, shareSandbox, startModel, TOKEN } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { expectProblem } from "./front-program.ts";

const PAGE = "https://app.example";
const OTHER = "https://evil.example";
const PIECE = randomBytes(1024 * 1024);
const PIECES = 128;

describeImage("files, diffs and pages of other origins, through the front", () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());
  const sandbox = shareSandbox(() => ({
    env: { ...started.env, TURND_CORS_ORIGINS: PAGE, TURND_MAX_BODY_BYTES: "100000" },
  }));
  const client = (): TurndClient => createTurndClient({ baseUrl: sandbox().url, token: TOKEN });
  const inside = async (script: string): Promise<string> =>
    (await sandbox().exec(["sh", "-ec", script], "1000")).output;
  const ask = (
    path: string,
    init: Omit<RequestInit, "headers"> & { origin?: string; headers?: Record<string, string> } = {},
  ): Promise<Response> =>
    fetch(`${sandbox().url}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(init.origin === undefined ? {} : { origin: init.origin }),
        ...init.headers,
      },
    });
  const allowed = ({ headers }: Response): string | null => headers.get("access-control-allow-origin");

  test("a large file goes in and out as a stream, of which the front keeps nothing", async () => {
    const turnd = client();
    const { session_id: id } = await turnd.createSession({ executor: "cli-b" });
    const sent = createHash("sha256");
    const kept: number[] = [];
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < PIECES; piece += 1) {
        // In the middle, when a front that buffers would have it on its disk.
        if (piece === PIECES / 2) {
          const { output } = await sandbox().exec(["du", "-sk", "/run/sandbox/nginx"]);
          kept.push(Number.parseInt(output, 10));
        }
        sent.update(PIECE);
        yield PIECE;
      }
    }
    const entry = await turnd.writeFile(id, "in/large.bin", pieces());
    expect(entry.size_bytes).toBe(PIECES * PIECE.length);
    expect(kept[0]).toBeLessThan(1_024);
    const received = createHash("sha256");
    for await (const chunk of chunksOf((await turnd.readFile(id, "in/large.bin")).body)) received.update(chunk);
    expect(received.digest("hex")).toBe(sent.digest("hex"));
    const part = await turnd.readFile(id, "in/large.bin", { range: "bytes=-7" });
    expect([part.status, (await part.text()).length > 0]).toEqual([206, true]);
    const zip = await ask(`/v1/sessions/${id}/files/in?archive=zip`);
    expect([zip.status, zip.headers.get("content-type")]).toEqual([200, "application/zip"]);
    expect(Buffer.from(await zip.arrayBuffer()).subarray(0, 4)).toEqual(Buffer.from("PK\u0003\u0004"));

    // What is refused before it has arrived is refused by turnd's answer, not by a broken connection.
    const again = (async function* () {
      for (let piece = 0; piece < PIECES; piece += 1) yield PIECE;
    })();
    const refused = turnd.writeFile(id, "in/large.bin", again, { isNew: true });
    await expect(refused).rejects.toMatchObject({ code: "precondition_failed" });
    await turnd.removeFile(id, "in", { isRecursive: true });
  });

  test("a turn's diff is read through the front", async () => {
    await inside(
      "cd /workspace && git init -q . && git config user.name x && git config user.email x@example.invalid && echo one > text && git add -A && git commit -qm one",
    );
    const turnd = client();
    const { turn_id } = await turnd.submit({ executor: "cli-b", input: "@@command:echo two >> text@@", diff: true });
    expect(await turnd.wait(turn_id)).toMatchObject({ status: "completed" });
    expect((await turnd.diff(turn_id)).patch).toContain("+two\n");
  });

  test("a preflight is answered to an allowed origin, and refused to any other", async () => {
    const preflight = (origin: string) =>
      ask("/v1/tickets", { method: "OPTIONS", origin, headers: { "access-control-request-method": "POST" } });
    expect(allowed(await preflight(PAGE))).toBe(PAGE);
    for (const origin of [OTHER, "null", `${PAGE}.evil.example`, PAGE.toUpperCase(), "http://app.example"]) {
      const answer = await preflight(origin);
      expect([origin, answer.status, allowed(answer)]).toEqual([origin, 403, null]);
    }
  });

  test("a ticket opens its stream once, for the page that got it, and nothing else", async () => {
    const { turn_id } = await client().submit({ executor: "cli-b", input: "@@tool-ok:a-word@@" });
    const path = `/v1/turns/${turn_id}/events`;
    const ticketFor = async (): Promise<string> => {
      const headers = { "content-type": "application/json" };
      const answer = await ask("/v1/tickets", {
        method: "POST",
        origin: PAGE,
        headers,
        body: JSON.stringify({ path }),
      });
      expect(allowed(answer)).toBe(PAGE);
      return UrlTicket.parse(await answer.json()).url;
    };
    // As an EventSource asks: with an origin and without the token.
    const open = (url: string) =>
      fetch(`${sandbox().url}${url}`, { headers: { origin: PAGE, accept: "text/event-stream" } });
    const url = await ticketFor();
    const stream = await open(url);
    expect([stream.status, allowed(stream), stream.headers.get("content-type")]).toEqual([
      200,
      PAGE,
      expect.stringContaining("text/event-stream"),
    ]);
    expect(await stream.text()).toContain("event: end");
    const elsewhere = (await ticketFor()).replace(turn_id, "another-turn");
    for (const used of [url, elsewhere]) {
      const answer = await open(used);
      expect([answer.status, allowed(answer)]).toEqual([401, PAGE]);
    }
  });

  test.skipIf(!HAS_CHROMIUM)(
    "a browser's EventSource follows a turn by tickets, across a turnd that is killed",
    async () => {
      const { turn_id: turnId } = await client().submit({ executor: "cli-b", input: "@@sleep:8@@" });
      const { page, close } = await launchBrowser({ width: 1_100, height: 900 });
      onTestFinished(close);
      await visit(page, `${sandbox().url}/`);
      await page.exposeFunction("seen", async (seq: number) => {
        if (seq === 2) await sandbox().exec(["pkill", "-KILL", "-f", "main.mjs"]);
      });
      const asked = JSON.stringify({ base: sandbox().url, token: TOKEN, turnId });
      const seqs: unknown = await page.evaluate(
        `(async () => {
        ${readFileSync(join(REPOSITORY, "docs/browsers.md"), "utf8").split("```js\n")[1]?.split("```")[0] ?? ""}
        // What turnd's own page could not read: a front without its turnd, for a moment.
        const fetched = window.fetch.bind(window);
        window.fetch = async (...given) => {
          for (;;) {
            const answer = await fetched(...given);
            if (answer.status !== 503) return answer;
            await new Promise((resolve) => setTimeout(resolve, 1000 * Number(answer.headers.get("retry-after"))));
          }
        };
        const seqs = [];
        await follow({ ...${asked}, onEvent: ({ seq }) => void (seqs.push(seq), seen(seq)) });
        return seqs;
      })()`,
      );
      const { text } = await sandbox().request("GET", `/v1/turns/${turnId}/events?follow=false`);
      expect(seqs).toEqual([...text.matchAll(/"seq":(\d+)/g)].map(([, seq]) => Number(seq)));
      expect(await client().wait(turnId)).toMatchObject({ status: "completed" });
    },
  );

  test("why the front itself refuses can be read by a page of an allowed origin alone", async () => {
    const body = JSON.stringify({ input: "x".repeat(200_000) });
    for (const [origin, wanted] of [
      [PAGE, PAGE],
      [OTHER, null],
      ["null", null],
    ] as const) {
      const large = await ask("/v1/turns", {
        method: "POST",
        origin,
        headers: { "content-type": "application/json" },
        body,
      });
      expect([origin, large.status, allowed(large), large.headers.get("vary")]).toEqual([
        origin,
        413,
        wanted,
        "Origin",
      ]);
      expect(Problem.parse(await large.json()).detail.code).toBe("body_too_large");
    }
    await sandbox().exec(["pkill", "-STOP", "supervise"]);
    await sandbox().exec(["pkill", "-KILL", "-f", "main.mjs"]);
    const away = await ask("/v1/turns", { origin: PAGE });
    expect([away.status, allowed(away), away.headers.get("retry-after")]).toEqual([503, PAGE, "1"]);
    expect(away.headers.get("access-control-expose-headers")).toContain("retry-after");
    const preflight = (origin: string) =>
      ask("/v1/turns", { method: "OPTIONS", origin, headers: { "access-control-request-method": "POST" } });
    const answered = await preflight(PAGE);
    expect([answered.status, allowed(answered)]).toEqual([204, PAGE]);
    const refused = await preflight(OTHER);
    expect([refused.status, allowed(refused)]).toEqual([503, null]);
    expectProblem(await sandbox().request("GET", "/v1/turns"), "turnd_unavailable");
    await sandbox().exec(["pkill", "-CONT", "supervise"]);
    await waitFor("turnd", async () => (await sandbox().request("GET", "/v1/ready")).status === 200);
  });
});
