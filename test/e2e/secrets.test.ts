import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { processesNaming } from "../harness/processes.ts";
import { KEY, PINNED_CLIS, shareStage, type RealCli, type Stage } from "../harness/real-daemon.ts";
import { waitFor } from "../harness/wait-for.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/** A provider that quotes the key in its refusal, as some do. */
const quoteKey: Scenario = () => ({
  type: "refusal",
  status: 401,
  code: "invalid_api_key",
  message: `Incorrect API key provided: ${KEY}.`,
});

/** A model that has the environment printed, and repeats it. */
const printEnv: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(`The environment: ${outcome.output} and the key is ${KEY}`);
  return act(conversation, { type: "run", command: "env", purpose: "Prints the environment" });
};

/** Paths, relative to a directory, of the files that hold the key. */
function filesWithKey(directory: string): string[] {
  const holders = filesBelow(directory).filter((path) => unlessGone(() => readFileSync(path))?.includes(KEY));
  return holders.map((path) => relative(directory, path));
}

function filesBelow(directory: string): string[] {
  const entries = unlessGone(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  return entries.flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

/** A turn's temporary files go after its end. */
function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Everything turnd serves about its turns and itself, as one text. */
async function servedTexts({ turnd }: Stage, { executor }: RealCli, turnIds: readonly string[]): Promise<string> {
  const { sessions } = (await turnd.request("GET", "/v1/sessions")).body;
  const paths = [
    "/v1/turns",
    "/v1/sessions",
    "/v1/executors",
    `/v1/executors/${executor}`,
    "/v1/sandbox",
    "/v1/health",
    "/v1/ready",
    "/openapi.json",
    ...sessions.map((session: { session_id: string }) => `/v1/sessions/${session.session_id}`),
    ...turnIds.flatMap((id) =>
      ["", "/events", "/events?verbose=false", "/result"].map((end) => `/v1/turns/${id}${end}`),
    ),
  ];
  const texts = [];
  for (const path of paths) {
    const answer = await turnd.request("GET", path);
    expect(answer.status, path).toBe(200);
    texts.push(answer.text);
  }
  for (const id of turnIds) for await (const frame of turnd.follow(id)) texts.push(frame.data);
  return texts.join("\n");
}

describe.each(PINNED_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, {
    env: { TURND_LOG_LEVEL: "debug" },
    model: { scenarios: { "quote-key": quoteKey, "print-env": printEnv } },
  });
  const { executor } = cli;

  test("the key is in the CLI's own configuration only", async () => {
    const { turnd, model, directory } = stage();
    const seconds = 300_000 + (process.pid % 100_000);
    const { turn_id, session_id } = await turnd.admit({ executor, input: `@@sleep:${seconds}@@` });
    await waitFor("the command", () => processesNaming(`sleep\0${seconds}`).length > 0);
    expect(processesNaming(KEY)).toEqual([]);
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    expect(JSON.stringify(model.requests.at(-1)?.headers)).toContain(KEY);

    // CLI A reads its key from its configuration, rendered at the start and for each session; CLI B from a variable.
    const rendered = "home/.config/opencode/config.json";
    const ofSession = `state/sessions/${session_id}/home/config/opencode/config.json`;
    expect(filesWithKey(directory).toSorted()).toEqual(executor === "cli-a" ? [rendered, ofSession] : [rendered]);
    for (const path of filesWithKey(directory)) expect(statSync(join(directory, path)).mode & 0o077).toBe(0);
  });

  test("a key that a tool, the model or the provider prints is neither served nor logged", async () => {
    const { turnd, model } = stage();
    const before = model.requests.length;
    const body = { executor, input: "@@print-env@@" };
    const answer = await turnd.request("POST", "/v1/turns?wait_ms=100000", body, { traceparent: TRACEPARENT });
    const printed = answer.body;
    expect(printed).toMatchObject({ status: "completed", output: expect.stringContaining("The environment") });
    // The caller's trace reaches the tools, and the provider only by what they print: neither CLI sends it.
    expect(printed.output).toContain(`TRACEPARENT=${TRACEPARENT}`);
    const asked = model.requests.slice(before);
    expect(JSON.stringify(asked.map(({ headers }) => headers))).not.toContain(TRACEPARENT.slice(3, 35));
    expect(JSON.stringify(asked[0])).not.toContain(TRACEPARENT.slice(3, 35));
    const quoted = await turnd.run({ executor, input: "@@quote-key@@" });
    expect(quoted).toMatchObject({ status: "failed", failure: { code: "auth_failed" } });

    const served = await servedTexts(stage(), cli, [printed.turn_id, quoted.turn_id]);
    expect(served).toContain("Incorrect API key provided");
    expect(served).not.toContain(KEY);
    expect(turnd.log.join("\n")).not.toContain(KEY);
    // What the CLI itself printed is kept for root alone.
    const turns = join(turnd.state, "sessions");
    const holders = filesWithKey(turns).filter((path) => path.includes("/turns/"));
    for (const path of holders) {
      expect(path).toMatch(/\/(stdout\.jsonl|stderr\.log)$/);
      expect(statSync(join(turns, path)).mode & 0o077, path).toBe(0);
    }
  });
});
