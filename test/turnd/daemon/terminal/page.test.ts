import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, reload } from "../../../harness/browser.ts";
import { faultsOf } from "../../../harness/inspector-stage.ts";
import { fakeDaemonIn } from "../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { newTerminal, siteOf, terminalDaemon } from "../../../harness/terminal.ts";
import { driveTerminalPage, openTerminalPage, type TerminalPage } from "../../../harness/terminal-page.ts";
import { waitFor } from "../../../harness/wait-for.ts";

async function open(url: string): Promise<TerminalPage> {
  const terminal = await openTerminalPage(url);
  onTestFinished(() => terminal.close());
  return terminal;
}

/** What the page asks for when it connects: its tickets are held back until they are released. */
interface Connecting {
  tickets(): number;
  release(): void;
  sockets(): number;
}

async function holdConnecting({ page }: TerminalPage): Promise<Connecting> {
  const { promise: released, resolve } = Promise.withResolvers<void>();
  let [tickets, sockets] = [0, 0];
  page.on("websocket", () => {
    sockets += 1;
  });
  await page.route("**/terminal/tickets", async (route) => {
    tickets += 1;
    await released;
    await route.continue();
  });
  return { tickets: () => tickets, release: resolve, sockets: () => sockets };
}

/** Types a line, and sees it and what it prints once. */
async function expectOneConnection(terminal: TerminalPage, connecting: Connecting): Promise<void> {
  connecting.release();
  await waitFor("the connection", async () => (await terminal.status()).startsWith("Connected"));
  await terminal.shows(/\$/);
  await terminal.type("echo on''ce");
  await terminal.shows(/\$ echo on''ce\nonce\n[^\n]*\$/);
  expect(connecting.sockets()).toBe(1);
}

/**
 * How many pixel columns of the first line whose text matches are not background anywhere, from a picture of that line's own box:
 * xterm.js cuts off what is drawn beyond it.
 */
async function drawnColumns({ page }: TerminalPage, wanted: RegExp): Promise<number> {
  const rows = page.locator(".xterm-rows > div");
  const texts = (await rows.allInnerTexts()).map((text) => text.replaceAll("\u00a0", " "));
  const index = texts.findIndex((text) => wanted.test(text));
  const box = await rows.nth(index).boundingBox();
  if (index === -1 || box === null) throw new Error(`no line matches ${wanted}: ${texts.join("|")}`);
  const picture = (await page.screenshot({ clip: box })).toString("base64");
  return Number(await page.evaluate(`(${countDrawnColumns})("data:image/png;base64,${picture}")`));
}

/** Runs in the browser, which can read a picture. */
const countDrawnColumns = `async (url) => {
  const image = new Image();
  image.src = url;
  await image.decode();
  const context = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height }).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let columns = 0;
  for (let x = 0; x < image.width; x++) {
    const isDrawn = (y) => data[4 * (y * image.width + x)] > 100;
    if (Array.from({ length: image.height }, (_, y) => y).some(isDrawn)) columns++;
  }
  return columns;
}`;

describe.skipIf(!HAS_CHROMIUM)("the terminal's page", { timeout: 180_000 }, () => {
  test("shows what is typed and printed, and after a reload the scrollback", async () => {
    const { turnd, site } = await terminalDaemon();
    await driveTerminalPage(`${site}/terminal?session_id=${await newTerminal(turnd)}`, "terminal-page");
  });

  test("shows when it is disconnected, takes no keys then, and comes back by itself", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: "0" });
    const site = siteOf(first);
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(first)}`);
    await terminal.shows(/\$/);
    await terminal.type("echo be''fore");
    await terminal.shows(/\nbefore\n/);
    first.kill("SIGKILL");
    await first.exited;
    await waitFor("the status", async () => (await terminal.status()).startsWith("Disconnected. Trying again"));
    await terminal.type("echo lo''st");
    await terminal.picture("terminal-page-disconnected");
    // What cannot be used is drawn fainter.
    expect((await faultsOf(terminal.page, "disconnected")).filter((fault) => !fault.includes(".xterm"))).toEqual([]);
    await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: new URL(site).port });
    await waitFor("a shell that is another one", async () =>
      (await terminal.status()).startsWith("Connected. The shell before has ended"),
    );
    await terminal.shows(/\$/);
    await terminal.type("echo af''ter");
    await terminal.shows(/\nafter\n/);
    expect(await terminal.text()).not.toContain("lost");
    expect(await terminal.text()).not.toContain("before");
  });

  test("asks for the token once where it is needed, and does not store it", async () => {
    const token = "a-token-of-some-length";
    const { turnd, site } = await terminalDaemon({ TURND_TOKEN: token });
    const headers = { authorization: `Bearer ${token}` };
    await turnd.request("POST", "/v1/sessions", { executor: "cli-b", session_id: "session-1" }, headers);
    const terminal = await open(`${site}/terminal?session_id=session-1`);
    const { page } = terminal;
    await page.locator("#token").fill("not-the-token");
    await page.keyboard.press("Enter");
    await waitFor("the answer", async () => (await terminal.status()) === "That token is not right.");
    await page.locator("#token").fill(token);
    await page.keyboard.press("Enter");
    await terminal.shows(/\$/);
    expect(await page.locator("#ask").isVisible()).toBe(false);
    const kept = await page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])");
    expect(JSON.parse(String(kept))).toEqual([{ "turnd.session-key": expect.any(String) }, {}, ""]);
    expect(kept).not.toContain(token);
    await terminal.type("echo st''ill");
    await terminal.shows(/\nstill\n/);
    await reload(page);
    await terminal.shows(/\nstill\n/);
    await page.locator("#log-out").click();
    await waitFor("the question", () => page.locator("#ask").isVisible());
    expect([(await terminal.text()).trim(), await terminal.status()]).toEqual(["", "Logged out"]);
    await terminal.picture("terminal-page-logged-out");
    await reload(page);
    await waitFor("the question again", () => page.locator("#ask").isVisible());
  });

  test("offers a new shell where one has ended, and follows the window's size", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    await terminal.shows(/\$/);
    await terminal.page.setViewportSize({ width: 700, height: 400 });
    await waitFor("the new size", async () => {
      await terminal.type("clear; stty size");
      const [, rows, cols] = /(\d+) (\d+)/.exec(await terminal.text()) ?? [];
      return Number(cols) < 90 && Number(rows) < 25;
    });
    await terminal.type("printf '\\e[31mred \\e[34mblue \\e[90mgrey\\e[0m\\n'");
    await terminal.shows(/\nred blue grey\n/);
    await terminal.type("exit 3");
    await waitFor("the end", async () => (await terminal.status()).includes("ended with exit code 3"));
    await terminal.picture("terminal-page-ended");
    expect(await faultsOf(terminal.page, "ended")).toEqual([]);
    await terminal.page.keyboard.press("Enter");
    await waitFor("a new shell", async () => (await terminal.status()) === "Connected");
    await terminal.type("echo ag''ain");
    await terminal.shows(/\nagain\n/);
  });

  test("opens one connection, though Enter is pressed twice for a new shell", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    await terminal.shows(/\$/);
    await terminal.type("exit");
    await waitFor("the end", async () => (await terminal.status()).includes("has ended"));
    const connecting = await holdConnecting(terminal);
    for (const key of ["Enter", "Enter"]) await terminal.page.keyboard.press(key);
    await waitFor("both", () => connecting.tickets() === 2);
    await expectOneConnection(terminal, connecting);
  });

  test("opens one connection, though the window comes to the front while it tries again", async () => {
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: "0" });
    const site = siteOf(first);
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(first)}`);
    await terminal.shows(/\$/);
    const connecting = await holdConnecting(terminal);
    first.kill("SIGKILL");
    await first.exited;
    await waitFor("the next try", () => connecting.tickets() === 1);
    await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: new URL(site).port });
    await terminal.page.evaluate("window.dispatchEvent(new Event('focus'))");
    await expectOneConnection(terminal, connecting);
  });

  test("advises to give a server there a password", async () => {
    const { turnd, site } = await terminalDaemon();
    const { page } = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    expect(await page.locator("#hint").innerText()).toMatch(/password.*OPENCODE_SERVER_PASSWORD/);
    expect(await page.locator("#hint").isVisible()).toBe(true);
  });

  test("shows underscores at a pixel ratio of 1", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    await terminal.shows(/\$/);
    expect(await terminal.page.evaluate("devicePixelRatio")).toBe(1);
    // Only underscores and spaces in the lines that are looked at, so that any pixel which is not background is theirs.
    await terminal.type("PS1='> '; clear; printf '%s\\n' '________________________________' '   ' end");
    await terminal.shows(/\nend\n/);
    const drawn = await drawnColumns(terminal, /^_+$/);
    await terminal.picture("terminal-page-underscores");
    // Thirty-two characters of about eight pixels, drawn without a gap.
    expect(drawn).toBeGreaterThan(32 * 7);
    expect(await drawnColumns(terminal, /^\s+$/)).toBe(0);
  });

  test("gives emoji two columns, shows titles as text, and copies a selection with Ctrl+Shift+C", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    const { page } = terminal;
    await terminal.shows(/\$/);
    // The terminal says in which column its cursor is.
    await terminal.type("PS1='> '; clear; printf '😀✅👍\\e[6n'; read -rs -d R at; echo; echo column-${at#*;}");
    await terminal.shows(/\ncolumn-7\n/);
    await terminal.picture("terminal-page-emoji");

    await terminal.type("printf '\\e]2;<img src=x onerror=alert(1)>\\u202e build\\a'");
    await waitFor("the title", async () => (await page.title()) === "<img src=x onerror=alert(1)> build – Terminal");
    await terminal.type("printf '\\e]0;\\a'");
    await waitFor("no title", async () => (await page.title()) === "Terminal");

    await page.context().grantPermissions(["clipboard-read", "clipboard-write"], { origin: site });
    await terminal.type("clear; echo co''pied-word");
    await terminal.shows(/^copied-word\n/);
    const word = await page.locator(".xterm-rows span", { hasText: "copied-word" }).first().boundingBox();
    await page.mouse.dblclick((word?.x ?? 0) + 20, (word?.y ?? 0) + 8);
    await page.keyboard.press("Control+Shift+C");
    await waitFor("the status", async () => (await terminal.status()) === "Copied");
    expect(await page.evaluate("navigator.clipboard.readText()")).toMatch(/^(?:copied-word|copied|word)$/);
    // It is no Ctrl+C.
    await terminal.type("echo st''ill");
    await terminal.shows(/\nstill\n/);
    expect(await terminal.text()).not.toContain("^C");
  });

  test("has Esc, Tab, Ctrl and arrows for fingers", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    const { page } = terminal;
    await terminal.shows(/\$/);
    expect(await page.locator("#keys").isVisible()).toBe(false);
    const devtools = await page.context().newCDPSession(page);
    const screen = { width: 390, height: 700, deviceScaleFactor: 2, mobile: true };
    await devtools.send("Emulation.setDeviceMetricsOverride", screen);
    await devtools.send("Emulation.setTouchEmulationEnabled", { enabled: true });
    await waitFor("the keys", () => page.locator("#keys").isVisible());
    await terminal.type("PS1='> '; clear");
    await terminal.shows(/^>/);
    const press = async (name: string): Promise<void> => page.locator(`#keys [data-key=${name}]`).click();
    for (const name of ["esc", "tab", "up", "down", "left", "right"]) {
      await terminal.type("clear; echo rea''dy; IFS= read -rsn1 a; IFS= read -rsn2 -t 0.2 b; printf '%q\\n' \"$a$b\"");
      await terminal.shows(/^ready\n/);
      await press(name);
      const sent = { esc: "\\E", tab: "\\t", up: "\\E[A", down: "\\E[B", left: "\\E[D", right: "\\E[C" }[name] ?? "";
      await waitFor(name, async () => (await terminal.text()).includes(`$'${sent}'`));
    }
    await terminal.type("clear; cat");
    await press("ctrl");
    expect(await page.locator("#keys [data-key=ctrl]").getAttribute("aria-pressed")).toBe("true");
    await terminal.picture("terminal-page-touch");
    await page.keyboard.type("c");
    await terminal.shows(/\^C/);
    expect(await page.locator("#keys [data-key=ctrl]").getAttribute("aria-pressed")).toBe("false");
  });

  test("says who has the size, where two windows share a shell", async () => {
    const { turnd, site } = await terminalDaemon();
    const url = `${site}/terminal?session_id=${await newTerminal(turnd)}`;
    const first = await open(url);
    await first.shows(/\$/);
    const second = await openTerminalPage(url);
    await second.shows(/\$/);
    expect(await second.status()).toBe("Connected. Another viewer shares this shell; it has this window's size now.");
    await second.page.setViewportSize({ width: 600, height: 400 });
    await waitFor("who has it", async () =>
      (await first.status()).startsWith("Connected. Another viewer has set the size"),
    );
    await first.picture("terminal-page-shared");
    const takeBack = first.page.getByRole("button", { name: "Take it back" });
    expect(await faultsOf(first.page, "shared")).toEqual([]);
    await takeBack.focus();
    await first.page.keyboard.press("Enter");
    await waitFor("it back", async () => (await first.status()) === "Connected");
    expect(await takeBack.isVisible()).toBe(false);
    await waitFor("the other", async () => (await second.status()).startsWith("Connected. Another viewer has set"));
    await second.close();
  });

  test("after a restart of turnd says that the shell has ended, and asks for the token only for a new one", async () => {
    const env = { TURND_TOKEN: "a-token-of-some-length" };
    const headers = { authorization: `Bearer ${env.TURND_TOKEN}` };
    const directory = temporaryDirectory(onTestFinished);
    const first = await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: "0", ...env });
    const site = siteOf(first);
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(first, headers)}`);
    const { page } = terminal;
    await terminal.shows(/\$/);
    first.kill("SIGKILL");
    await first.exited;
    const second = await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: new URL(site).port, ...env });
    await waitFor("the end", async () => (await terminal.status()).startsWith("The shell has ended, with turnd."));
    expect(await page.locator("#ask").isVisible()).toBe(false);
    await page.locator("#terminal").click();
    await page.keyboard.press("Enter");
    await waitFor("the question", () => page.locator("#ask").isVisible());
    expect(await page.locator("#why").innerText()).toMatch(/^This link opens no shell any more/);
    await terminal.picture("terminal-page-restarted");
    await page.locator("#token").fill(env.TURND_TOKEN);
    await page.keyboard.press("Enter");
    await waitFor("a new shell", async () => (await terminal.status()) === "Connected");
    await terminal.type("echo ag''ain");
    await terminal.shows(/\nagain\n/);

    // Without an id, it offers a new one.
    const fresh = await open(`${siteOf(second)}/terminal`);
    expect(await fresh.status()).toBe("No shell yet");
    expect(await faultsOf(fresh.page, "new")).toEqual([]);
    await fresh.picture("terminal-page-new");
    await fresh.page.locator("#start").click();
    await waitFor("the question", () => fresh.page.locator("#ask").isVisible());
    expect(await faultsOf(fresh.page, "token")).toEqual([]);
    await fresh.page.locator("#token").fill(env.TURND_TOKEN);
    await fresh.page.keyboard.press("Enter");
    await fresh.shows(/\$/);
    expect(fresh.page.url()).toMatch(/\?session_id=[0-9a-f-]{36}$/);
    await fresh.type("echo ne''w");
    await fresh.shows(/\nnew\n/);
    await reload(fresh.page);
    await fresh.shows(/\nnew\n/);
  });

  test("does not answer old questions when it replays them", async () => {
    const { turnd, site } = await terminalDaemon();
    const terminal = await open(`${site}/terminal?session_id=${await newTerminal(turnd)}`);
    await terminal.shows(/\$/);
    // Asks the terminal what it is; the answer is read away, and anything typed later would be shown.
    await terminal.type("printf '\\033[c'; read -rs -d c; echo ans''wered");
    await terminal.shows(/\nanswered\n/);
    await reload(terminal.page);
    await terminal.shows(/\nanswered\n/);
    await terminal.type("echo cle''an");
    await terminal.shows(/\$ echo cle''an\nclean\n/);
  });
});
