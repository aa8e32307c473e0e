import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { onTestFinished, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM, launchBrowser, visit } from "../../../harness/browser.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { createTestApp, listen } from "./test-app.ts";

const token = "a-token-of-some-length";
const warning = (text: string) => ({ type: "warning", data: { code: "test", message: text } });

/** The function that docs/browsers.md gives its reader. */
function readExample(): string {
  const [, example] = /```js\n([\s\S]*?)```/.exec(readFileSync(join(REPOSITORY, "docs/browsers.md"), "utf8")) ?? [];
  return example ?? expect.unreachable("docs/browsers.md has no example");
}

/** A page that may ask these hosts alone: the test fails for a request to elsewhere, and for a fault of its script. */
async function openPage(hosts: readonly string[]): Promise<Page> {
  const { page, close } = await launchBrowser({ width: 1_100, height: 900 });
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    const url = request.url();
    if (!hosts.some((host) => url.startsWith(`${host}/`)) && !url.startsWith("data:")) faults.push(url);
  });
  onTestFinished(async () => {
    await close();
    expect(faults).toEqual([]);
  });
  return page;
}

/** A page of another origin. */
async function servePage(): Promise<string> {
  const script = `<!doctype html><title>page</title><script>${readExample()}</script>`;
  const server = createServer((_request, response) => response.setHeader("content-type", "text/html").end(script));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const address = server.address();
  return typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : expect.unreachable();
}

test.skipIf(!HAS_CHROMIUM)("the example of docs/browsers.md follows a turn in a page of another origin", async () => {
  const origin = await servePage();
  const { app, service } = await createTestApp({ token, corsOrigins: [origin] });
  const turn = service.addTurn("turn-1");
  turn.append(warning("one"));
  service.failReads(new Error("the first connection breaks"));
  const { url: base } = await listen(app);
  onTestFinished(() => app.close());

  const page = await openPage([origin, base]);
  await visit(page, origin);
  const seqs: number[] = [];
  await page.exposeFunction("seen", (seq: number) => {
    seqs.push(seq);
    if (seq !== 1) return;
    service.failReads(undefined);
    turn.append(warning("two"));
    turn.end();
  });
  const end = await page.evaluate(
    `follow({ base: ${JSON.stringify(base)}, token: ${JSON.stringify(token)}, turnId: "turn-1", onEvent: ({ seq }) => seen(seq) })`,
  );
  expect(end).toMatchObject({ seq: 3, type: "turn.ended" });
  expect(seqs).toEqual([1, 2, 3]);
});

test.skipIf(!HAS_CHROMIUM)(
  "an EventSource whose ticket has expired is closed, and the example makes a new one",
  async () => {
    const origin = await servePage();
    const { app, service } = await createTestApp({ token, corsOrigins: [origin], ticketMs: 1_000 });
    service.addTurn("turn-1").end();
    const { url: base } = await listen(app);
    onTestFinished(() => app.close());
    const page = await openPage([origin, base]);
    await visit(page, origin);
    const seen = await page.evaluate(
      `(async () => {
      const fetched = window.fetch.bind(window);
      const tickets = [];
      // The first ticket comes when its time is over.
      window.fetch = async (...asked) => {
        const answer = await fetched(...asked);
        const { ticket, expires_in_ms: ms } = await answer.clone().json();
        tickets.push(ticket);
        if (tickets.length === 1) await new Promise((resolve) => setTimeout(resolve, ms + 1));
        return answer;
      };
      const states = [];
      window.EventSource = class extends EventSource {
        constructor(url) {
          super(url);
          this.addEventListener("error", () => states.push(this.readyState));
        }
      };
      const seqs = [];
      const asked = { base: ${JSON.stringify(base)}, token: ${JSON.stringify(token)}, turnId: "turn-1" };
      const end = await follow({ ...asked, onEvent: ({ seq }) => seqs.push(seq) });
      return { states, seqs, type: end.type, isNew: new Set(tickets).size === tickets.length };
    })()`,
    );
    // 2 is CLOSED: a browser does not ask again after a 401.
    expect(seen).toMatchObject({ states: expect.arrayContaining([2]), seqs: [1], type: "turn.ended", isNew: true });
  },
);

test.skipIf(!HAS_CHROMIUM)(
  "a page of an origin that is not listed reads nothing, with the token or a ticket",
  async () => {
    const origin = await servePage();
    const { app, service } = await createTestApp({ token, corsOrigins: ["http://localhost:5173"] });
    service.addTurn("turn-1").end();
    const { url: base } = await listen(app);
    onTestFinished(() => app.close());
    const headers = { authorization: `Bearer ${token}` };
    const payload = { path: "/v1/turns/turn-1/events" };
    const { url } = (await app.inject({ method: "POST", url: "/v1/tickets", headers, payload })).json();

    const page = await openPage([origin, base]);
    await visit(page, origin);
    const outcome = await page.evaluate(
      async ([address = "", ticketed = "", secret = ""]) => {
        const fetched = await fetch(`${address}/v1/turns`, { headers: { authorization: `Bearer ${secret}` } }).then(
          () => "read",
          () => "refused",
        );
        const streamed = await new Promise((resolve) => {
          const source = new EventSource(address + ticketed);
          source.addEventListener("end", () => resolve("read"));
          source.addEventListener("error", () => resolve("refused"));
        });
        return [fetched, streamed];
      },
      [base, url, token],
    );
    expect(outcome).toEqual(["refused", "refused"]);
  },
);

test.skipIf(!HAS_CHROMIUM)("/docs is drawn without a token and without any other host", async () => {
  const { app } = await createTestApp({ token });
  const { url: base } = await listen(app);
  onTestFinished(() => app.close());
  const page = await openPage([base]);
  await visit(page, `${base}/docs`);
  await page.getByText("/v1/turns/{turn_id}/events", { exact: true }).first().waitFor();
});
