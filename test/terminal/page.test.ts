import { describe, expect, onTestFinished, test } from "vitest";
import { HAS_CHROMIUM, reload } from "../harness/browser.ts";
import { fakeDaemonIn } from "../harness/fake-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { newTerminal, siteOf, terminalDaemon } from "../harness/terminal.ts";
import { driveTerminalPage, openTerminalPage, type TerminalPage } from "../harness/terminal-page.ts";
import { waitFor } from "../harness/wait-for.ts";

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
  await waitFor("the connection", async () => (await terminal.status()) === "Connected");
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
    await fakeDaemonIn(directory, { TURND_TERMINAL_PORT: new URL(site).port });
    await waitFor("the connection", async () => (await terminal.status()) === "Connected");
    await terminal.shows(/\$/);
    await terminal.type("echo af''ter");
    await terminal.shows(/\nafter\n/);
    expect(await terminal.text()).not.toContain("lost");
    expect(await terminal.text()).not.toContain("before");
  });

  test("asks for the token where it is needed, and does not store it", async () => {
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
    expect(kept).toBe('[{},{},""]');
    await reload(page);
    await waitFor("the question", () => page.locator("#ask").isVisible());
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
    await terminal.type("exit 3");
    await waitFor("the end", async () => (await terminal.status()).includes("ended with exit code 3"));
    await terminal.picture("terminal-page-ended");
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
