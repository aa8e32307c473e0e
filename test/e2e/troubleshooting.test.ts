import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expectPrinted, shownBehind } from "../harness/shown-block.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { find, run, start } from "./run-documents.ts";

const TEXT = readFileSync(join(REPOSITORY, "docs/troubleshooting.md"), "utf8");
const LIMIT = { timeout: 300_000 };

/** Runs the document's block that has a part, as it stands, against one turnd. */
function pasteInto(host: string) {
  return async (part: string, env: Record<string, string> = {}): Promise<string> => {
    // A shell that a person types into goes on after a command that fails.
    const script = `set +e\n${find(TEXT, part).replaceAll("127.0.0.1:8091", host)}`;
    const { stdout, stderr } = await run(script, { TURND_URL: `http://${host}`, ...env });
    return `${stdout}\n${stderr}`;
  };
}

test("turns that hang, a slow start and what was used are shown as docs/troubleshooting.md says", LIMIT, async () => {
  const { host, state, stop } = await start("exec npm start -- --scripted");
  const paste = pasteInto(host);
  const env = { TURND_URL: `http://${host}` };
  const [hang = "", sleep = ""] = ["@@hang@@", "@@sleep:600@@"].filter((prompt) => TEXT.includes(`\`${prompt}\``));
  await run(`bin/turnd run --executor codex "Write a small program and run it."`, env);
  const turns: string[] = [];
  for (const prompt of [hang, sleep]) {
    turns.push((await run(`bin/turnd run --detach --executor codex '${prompt}'`, env)).stdout);
  }
  const shown = await waitFor("both turns wait", async () => {
    const printed = await paste("--status running");
    return /\(tool\.started\)\nwaits for +sleep 600,[^]*\(session\.bound\)\nwaits for +the model,/.test(printed)
      ? printed
      : undefined;
  });
  expectPrinted(shownBehind(TEXT, "--status running"), shown);
  for (const turn of turns)
    expectPrinted(shownBehind(TEXT, "bin/turnd cancel"), await paste("bin/turnd cancel", { turn }));
  expect(await paste("--status running")).toBe("\n");

  expectPrinted(shownBehind(TEXT, "first_event_seconds_"), await paste("first_event_seconds_"));
  expectPrinted(shownBehind(TEXT, "(turns|tokens)_total"), await paste("(turns|tokens)_total"));
  expectPrinted(shownBehind(TEXT, "\nbin/turnd doctor"), await paste("bin/turnd doctor", { TURND_STATE_DIR: state }));
  expect(await stop()).toBe(0);
});

test("a full disk is shown as docs/troubleshooting.md says, and a session is deleted on it", LIMIT, async () => {
  const first = await start("exec npm start -- --scripted");
  const made = await run("bin/turnd sessions create --executor codex", { TURND_URL: `http://${first.host}` });
  expect(await first.stop()).toBe(0);
  const { host, stop } = await start("exec npm start -- --scripted", {
    TURND_STATE_DIR: first.state,
    TURND_HOME: join(first.state, "../home"),
    TURND_WORKSPACE: join(first.state, "../workspace"),
    TURND_MIN_FREE_BYTES: "1000000000000000",
  });
  const paste = pasteInto(host);
  const printed = await paste("/v1/ready");
  // Standard error comes behind.
  const [refusal = "", ready = ""] = shownBehind(TEXT, "/v1/ready");
  expectPrinted([ready, refusal], printed);
  const deleted = await paste("sessions delete", { session: made.stdout });
  expect(deleted).toContain(`session ${made.stdout} is deleted`);
  expect(await stop()).toBe(0);
});

test("CLIs without a provider are shown as docs/troubleshooting.md says", LIMIT, async () => {
  const { host, stop } = await start("exec npm start");
  const part = TEXT.slice(TEXT.indexOf("## No provider"));
  const script = find(part, "/v1/ready").replaceAll("127.0.0.1:8091", host);
  const { stdout, stderr } = await run(`set +e\n${script}`, { TURND_URL: `http://${host}` });
  expectPrinted(shownBehind(part, "/v1/ready"), `${stdout}\n${stderr}`);
  const env = { TURND_URL: `http://${host}` };
  const { stdout: turn } = await run("bin/turnd turns --quiet", env);
  const show = await run(find(part, 'bin/turnd show "$turn"'), { ...env, turn });
  expect([show.exitCode, show.stdout]).toEqual([0, expect.stringContaining("failed: credential_missing")]);
  expect(await stop()).toBe(0);
});
