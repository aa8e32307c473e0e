import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { fakeEnv } from "./fake-env.ts";
import { openInspector, type InspectorPage, type Looks } from "./inspector-page.ts";
import { temporaryDirectory } from "./temporary.ts";

/** Of every daemon that the inspector is tested with. */
export const TOKEN = "a-token-of-some-length";
const HEADERS = { authorization: `Bearer ${TOKEN}` };
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A daemon with the fake CLI B and a token, and the inspector in browsers of its own. */
export interface InspectorStage {
  readonly turnd: TestDaemon;
  /** Holds the daemon's state; another one goes on where it stopped. */
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  /** Starts a turn. */
  admit(body: Readonly<Record<string, unknown>>): Promise<string>;
  /** Runs a turn to its end. */
  run(body: Readonly<Record<string, unknown>>): Promise<string>;
  /** Opens the page, as it comes. */
  open(looks?: Looks): Promise<InspectorPage>;
  /** Opens the page, logs in and shows a turn. */
  openTurn(turnId: string, looks?: Looks): Promise<InspectorPage>;
}

/** One daemon for all tests of a `describe`. @returns how a test gets at it */
export function shareInspector(more: Readonly<Record<string, string>> = {}): () => InspectorStage {
  let stage: InspectorStage | undefined;
  const cleanUps: (() => void)[] = [];
  beforeAll(async () => {
    const directory = temporaryDirectory((cleanUp) => cleanUps.push(cleanUp));
    const env = { ...fakeEnv(directory), TURND_TOKEN: TOKEN, TURND_STEER_WAIT_MS: "200", ...more };
    stage = stageOf(await startDaemon({ directory, env }), directory, env);
  });
  afterAll(async () => {
    await stage?.turnd.stop();
    for (const cleanUp of cleanUps) cleanUp();
  });
  return () => {
    if (stage === undefined) throw new Error("the daemon did not start");
    return stage;
  };
}

function stageOf(turnd: TestDaemon, directory: string, env: Readonly<Record<string, string>>): InspectorStage {
  async function ask(path: string, body: object, status: number): Promise<string> {
    const answer = await turnd.request("POST", path, { executor: "cli-b", ...body }, HEADERS);
    expect([answer.status, answer.text]).toEqual([status, answer.text]);
    return answer.body.turn_id;
  }
  async function open(looks: Looks = {}): Promise<InspectorPage> {
    const inspector = await openInspector(turnd.url, looks);
    onTestFinished(() => inspector.close());
    return inspector;
  }
  return {
    turnd,
    directory,
    env,
    open,
    admit: (body) => ask("/v1/turns", body, 202),
    run: (body) => ask("/v1/turns?wait_ms=60000", body, 200),
    async openTurn(turnId, looks = {}) {
      const inspector = await open(looks);
      await logIn(inspector.page);
      await show(inspector.page, turnId);
      return inspector;
    },
  };
}

/** Gives the token to a page that asks for it. */
export async function logIn(page: Page): Promise<void> {
  await page.locator("#token").fill(TOKEN);
  await page.keyboard.press("Enter");
  await page.locator(".list-items").waitFor();
  await page.locator(".turn-link, .empty").first().waitFor();
}

/** Shows a turn on a page that is logged in. @param tab - such as `/raw` */
export async function show(page: Page, turnId: string, tab = ""): Promise<void> {
  await page.evaluate(`location.hash = "#/turns/${turnId}${tab}"`);
  await page.locator(".turn-header").waitFor();
}

/** What axe finds against WCAG 2.2 AA. */
export async function faultsOf(page: Page, where: string): Promise<string[]> {
  // In a world of the debugger's own: the page's policy lets no script in.
  await page.evaluate(AXE);
  const found: unknown = await page.evaluate(RUN_AXE);
  return Array.isArray(found) ? found.map((fault) => `${where}: ${String(fault)}`) : [`${where}: axe did not run`];
}

const RUN_AXE = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
  .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + " " + target + ": " + failureSummary)))`;
