import { join } from "node:path";
import { createParser } from "eventsource-parser";
import { describe, expect, test } from "vitest";
import { HAS_CHROMIUM } from "../harness/browser.ts";
import { describeImage, shareSandbox, TOKEN } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { plain } from "../harness/terminal.ts";
import { driveTerminalPage, openTerminalPage } from "../harness/terminal-page.ts";
import { waitFor } from "../harness/wait-for.ts";

/** For a machine that others load. */
const LIMIT_MS = 300_000;
const ESCAPEES = "/opt/programs/escapees";

describeImage("the terminal", { timeout: LIMIT_MS }, () => {
  const sandbox = shareSandbox(() => ({ files: { [ESCAPEES]: join(REPOSITORY, "test/programs/escapees") } }));

  /** The URL that turnd gives: at the port where the engine has published the front. */
  async function terminalUrl(query = ""): Promise<string> {
    const { body } = await sandbox().request("GET", `/v1/shell/terminal-url${query}`);
    expect(body).toMatchObject({ success: true, message: "ok" });
    expect(body.data.startsWith(`${sandbox().url}/terminal?session_id=`)).toBe(true);
    return body.data;
  }

  describe.skipIf(!HAS_CHROMIUM)("in a browser", () => {
    test("shows what is typed and printed, and after a reload the scrollback", async () => {
      await driveTerminalPage(await terminalUrl(), "image-terminal");
    });

    test("of a turn session opens its workspace, with the token, as uid 1000 and without it", async () => {
      await sandbox().exec(["mkdir", "/workspace/project"], "1000");
      const session = { executor: "cli-b", session_id: "over-the-shoulder", workspace: "/workspace/project" };
      expect((await sandbox().request("POST", "/v1/sessions", session)).status).toBe(201);
      const terminal = await openTerminalPage(await terminalUrl("?session_id=over-the-shoulder"));
      try {
        await terminal.page.locator("#token").fill(TOKEN);
        await terminal.page.keyboard.press("Enter");
        await terminal.shows(/\$/);
        await terminal.type("pwd; whoami; id -u; env | grep -c TOKE''N");
        await terminal.shows(/\n\/workspace\/project\nsandbox\n1000\n0\n/);
        await terminal.picture("image-terminal-session");
      } finally {
        await terminal.close();
      }
    });
  });

  test("without a WebSocket is read as events, typed into, resized and closed, with all that it started", async () => {
    const created = await sandbox().request("POST", "/v1/shell/sessions", { cols: 100, rows: 30 });
    expect(created.status).toBe(201);
    const path = `/v1/shell/sessions/${created.body.session_id}`;
    const events: { event: string | undefined; data: string }[] = [];
    const printed = (): string => plain(events.map(({ data }) => JSON.parse(data).data ?? "").join(""));
    const response = await fetch(`${sandbox().url}${path}/output`, {
      headers: { accept: "text/event-stream", authorization: `Bearer ${TOKEN}` },
    });
    expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
    const reading = (async () => {
      const parser = createParser({ onEvent: ({ event, data }) => events.push({ event, data }) });
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
    })();
    const type = (line: string) => sandbox().request("POST", `${path}/input`, { text: `${line}\r` });
    const shows = (wanted: RegExp) => waitFor(String(wanted), () => wanted.test(printed()), LIMIT_MS);

    await type("stty size; whoami; echo on''e");
    await shows(/\n30 100\nsandbox\none\n/);
    expect((await sandbox().request("POST", `${path}/resize`, { cols: 90, rows: 20 })).status).toBe(200);
    await type("stty size; echo tw''o");
    await shows(/\n20 90\ntwo\n/);
    // While it runs: nothing waits in the front for more.
    expect(events.some(({ event }) => event === "end")).toBe(false);

    await type(`${ESCAPEES} 8000001`);
    await shows(/\nstarted\n/);
    const left = () => sandbox().exec(["pgrep", "-f", "[8]000001"]);
    expect((await left()).output.split("\n").length).toBeGreaterThan(7);
    expect((await sandbox().request("DELETE", path)).status).toBe(204);
    expect((await left()).output).toBe("");
    await reading;
    expect(events.at(-1)?.event).toBe("end");
  });

  test("takes pages from where the front is reached, and answers others what to set", async () => {
    const id = new URL(await terminalUrl()).searchParams.get("session_id");
    const { host } = new URL(sandbox().url);
    const ask = (origin: string) =>
      sandbox().request("POST", "/terminal/tickets", { session_id: id }, { authorization: "", origin });
    expect((await ask(`http://${host}`)).status).toBe(201);
    const refused = await ask("https://sandbox.example");
    expect(refused.status).toBe(403);
    expect(refused.body.detail).toMatchObject({
      code: "forbidden_origin",
      message: expect.stringContaining("TURND_TERMINAL_URL"),
    });
  });
});

describeImage("the terminal at an address of its own", () => {
  const sandbox = shareSandbox(() => ({ env: { TURND_TERMINAL_URL: "https://sandbox.example:8443" } }));

  test("gives URLs there and takes pages from there, behind a proxy that ends TLS", async () => {
    const { body } = await sandbox().request("GET", "/v1/shell/terminal-url");
    expect(body.data).toMatch(/^https:\/\/sandbox\.example:8443\/terminal\?session_id=/);
    const session_id = new URL(body.data).searchParams.get("session_id");
    const headers = { authorization: "", origin: "https://sandbox.example:8443" };
    expect((await sandbox().request("POST", "/terminal/tickets", { session_id }, headers)).status).toBe(201);
  });
});
