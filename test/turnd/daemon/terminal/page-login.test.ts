import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, keepPicture, launchBrowser, reload, visit } from "../../../harness/browser.ts";
import { openInspector } from "../../../harness/inspector-page.ts";
import { askTicket, terminalDaemon } from "../../../harness/terminal.ts";
import { openTerminalPage, showsIn } from "../../../harness/terminal-page.ts";
import { waitFor } from "../../../harness/wait-for.ts";

const TOKEN = "a-token-of-some-length";
const headers = { authorization: `Bearer ${TOKEN}` };

describe.skipIf(!HAS_CHROMIUM)("the terminal's page", { timeout: 180_000 }, () => {
  test("opened from the inspector asks for no token, though it has a port of its own", async () => {
    const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN });
    const body = { executor: "cli-b", input: "hello", session_id: "session-1" };
    await turnd.request("POST", "/v1/turns?wait_ms=60000", body, headers);
    const { page, close } = await openInspector(turnd.url);
    onTestFinished(close);
    await page.locator("#token").fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.locator(".turn-link", { hasText: "hello" }).click();
    const [tab] = await Promise.all([
      page.context().waitForEvent("page"),
      page.getByRole("button", { name: "Terminal", exact: true }).click(),
    ]);
    await showsIn(tab, /\$/);
    // In the address there is nothing left that opens anything.
    expect(tab.url()).toBe(`${site}/terminal?session_id=session-1`);
    await tab.locator("#terminal").click();
    await tab.keyboard.type("pwd; echo re''ady\n");
    await showsIn(tab, new RegExp(`\\n${turnd.workspace}\\nready\\n`));
    await keepPicture(tab, "terminal-from-inspector");
    await reload(tab);
    await showsIn(tab, /\nready\n/);
    expect(await tab.locator("#ask").isVisible()).toBe(false);

    // The login ends with that of the inspector; what is open stays open.
    await page.bringToFront();
    await page.getByRole("button", { name: "Log out" }).click();
    await page.locator("#token").waitFor();
    await reload(tab);
    await tab.locator("#ask").waitFor();
    expect(turnd.log.join("\n")).not.toMatch(/ticket[=.:]|login=/);
  });

  test("takes a ticket of the inspector once, of a login that lasts, and from nobody else", async () => {
    const { turnd, site } = await terminalDaemon({ TURND_TOKEN: TOKEN });
    const logIn = (url: string, body: object, more: Record<string, string> = {}): Promise<Response> =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...more },
        body: JSON.stringify(body),
      });
    const proofOf = async (answer: Response): Promise<Record<string, string>> => {
      const { key } = JSON.parse(await answer.text());
      return { cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "", "x-turnd-session-key": key };
    };
    const own = await proofOf(await logIn(`${turnd.url}/inspector/session`, { token: TOKEN }));
    const giving = `${turnd.url}/inspector/session/ticket`;
    expect((await logIn(giving, {}, { cookie: own["cookie"] ?? "" })).status).toBe(401);
    expect((await logIn(giving, {}, headers)).status).toBe(401);
    const { ticket } = JSON.parse(await (await logIn(giving, {}, own)).text());
    const taken = await logIn(`${site}/terminal/session`, { ticket });
    expect([taken.status, taken.headers.get("set-cookie")]).toEqual([
      201,
      expect.stringMatching(/^turnd_session_\d+=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/),
    ]);
    expect((await logIn(`${site}/terminal/session`, { ticket })).status).toBe(401);
    const there = await proofOf(taken);
    const id = crypto.randomUUID();
    expect((await askTicket(site, id, there)).status).toBe(201);
    expect((await askTicket(site, crypto.randomUUID(), { cookie: there["cookie"] ?? "" })).status).toBe(401);
    expect((await logIn(`${site}/terminal/session`, { token: "wrong" })).status).toBe(401);
    await fetch(`${turnd.url}/inspector/session`, { method: "DELETE", headers: own });
    expect((await askTicket(site, crypto.randomUUID(), there)).status).toBe(401);
  });

  test("says that a script is missing, and loads again", async () => {
    const { site } = await terminalDaemon();
    const { page, close } = await launchBrowser({ width: 1000, height: 600 });
    onTestFinished(close);
    await page.route("**/terminal/addon-fit.mjs", (route) => route.abort());
    await expect(visit(page, `${site}/terminal`)).rejects.toThrow("addon-fit.mjs");
    await page.getByText("a script is missing").waitFor();
    await keepPicture(page, "terminal-page-broken");
    await page.unroute("**/terminal/addon-fit.mjs");
    await page.getByRole("link", { name: "Load again" }).click();
    await page.locator("#start").waitFor();
    expect(await page.getByText("a script is missing").count()).toBe(0);
  });

  test("loads nothing from elsewhere, and its policy lets no other script in", async () => {
    const { site } = await terminalDaemon();
    const requests: string[] = [];
    const terminal = await openTerminalPage(`${site}/terminal`);
    onTestFinished(() => terminal.close());
    const { page } = terminal;
    page.on("request", (request) => requests.push(request.url()));
    await reload(page);
    await page.locator("#start").click();
    await terminal.shows(/\$/);
    expect(requests.filter((url) => !url.startsWith(`${site}/terminal`) && !url.startsWith("data:"))).toEqual([]);
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement("script"), { textContent: "globalThis.ran = 1" }))`,
    );
    expect(await page.evaluate("globalThis.ran")).toBeUndefined();
    await waitFor("the status", async () => (await terminal.status()) === "Connected");
  });
});
