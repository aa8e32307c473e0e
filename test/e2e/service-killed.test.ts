import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createParser } from "eventsource-parser";
import { expect, onTestFinished, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { createClient, type Answer } from "../harness/client.ts";
import { startNpmService, turndOf } from "../harness/npm-service.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const LIMIT_MS = 600_000;
const KEY = "the-key-of-the-provider";

/** An event of a run, as a client keeps it. */
interface Kept {
  readonly id: number;
  readonly event: string;
  readonly payload: ReturnType<typeof JSON.parse>;
}

/** One run of a thread on one CLI, and what its client has read of it over all connections. */
interface Followed {
  readonly slug: string;
  readonly threadId: string;
  readonly runId: string;
  readonly kept: Kept[];
}

/** A user of a service that may be gone at any moment. */
async function logIn(url: string, directory: string) {
  const { request } = createClient(url);
  const password = readFileSync(join(directory, "admin-password"), "utf8").trim();
  const { body } = await request("POST", "/api/auth/token", { username: "admin", password });
  const authorization = `Bearer ${body.access_token}`;
  return {
    call: (method: string, path: string, sent?: unknown): Promise<Answer> =>
      request(method, path, sent, { authorization }),
    /** Reads on from the last event that was read, until the end of the run or of the connection. */
    async readOn({ runId, kept }: Followed): Promise<void> {
      const headers = { authorization, accept: "text/event-stream", "last-event-id": String(kept.at(-1)?.id ?? 0) };
      const response = await fetch(`${url}/api/agent/runs/${runId}/events`, { headers });
      if (response.status !== 200 || response.body === null) throw new Error(`the stream: ${response.status}`);
      const parser = createParser({
        onEvent: ({ id, event = "", data }) => kept.push({ id: Number(id), event, payload: JSON.parse(data).payload }),
      });
      const decoder = new TextDecoder();
      for await (const chunk of response.body) parser.feed(decoder.decode(chunk, { stream: true }));
    },
  };
}

/** A model that makes one call after the other until the test stops it. */
async function startTirelessModel() {
  let isEnough = false;
  const tireless: Scenario = (conversation) => {
    const made = currentTurn(conversation).outcomes.length;
    if (isEnough) return say(`Made ${made} calls.`);
    return act(conversation, { type: "run", command: `echo step ${made + 1}`, purpose: `Step ${made + 1}` });
  };
  const model = await startScriptedModel({ apiKey: KEY, thinkMs: 1_000, scenarios: { tireless } });
  onTestFinished(() => model.close());
  return {
    url: model.url,
    tell(): void {
      isEnough = true;
    },
  };
}

/** What the run's tools have said so far. */
const toolTexts = ({ kept }: Followed): string[] =>
  kept.flatMap(({ payload }) =>
    (payload.items ?? []).flatMap((item: ReturnType<typeof JSON.parse>) =>
      item.type === "tool_result" ? [String(item.output?.text).trim()] : [],
    ),
  );

test(
  "runs on both real CLIs outlive kill -9 of turnd and then of the service: one turn, one end, no gap",
  { timeout: LIMIT_MS },
  async () => {
    const model = await startTirelessModel();
    const directory = join(temporaryDirectory(onTestFinished), "svc");
    const env = {
      CLI_A_PROVIDER: "ours",
      CLI_A_MODEL: "large",
      CLI_A_BASE_URL: model.url,
      CLI_A_API_KEY: KEY,
      CLI_B_MODEL: "large",
      CLI_B_BASE_URL: model.url,
      CLI_B_API_KEY: KEY,
      CLI_B_SANDBOX_MODE: "danger-full-access",
    };
    const first = await startNpmService(directory, env);
    const user = await logIn(first.url, directory);
    const runs: Followed[] = [];
    for (const slug of ["cli-a", "cli-b"]) {
      const { body: thread } = await user.call("POST", "/api/chat/thread", { agent_id: slug });
      const submission = { agent_slug: slug, thread_id: thread.id, query: "@@tireless@@" };
      const { body } = await user.call("POST", "/api/agent/runs", submission);
      runs.push({ slug, threadId: thread.id, runId: body.run_id, kept: [] });
    }
    const reading = Promise.allSettled(runs.map((run) => user.readOn(run)));
    const waitForCalls = async (what: string): Promise<void> => {
      const before = runs.map((run) => toolTexts(run).length);
      const isFurther = (run: Followed, index: number): boolean => toolTexts(run).length > (before[index] ?? 0);
      await waitFor(what, () => runs.every(isFurther), LIMIT_MS);
    };

    await waitForCalls("a call of each");
    const turnd = turndOf(directory) ?? 0;
    process.kill(turnd, "SIGKILL");
    await waitFor("another turnd", () => ![undefined, turnd].includes(turndOf(directory)), LIMIT_MS);
    // The connections to the service have noticed nothing of it.
    await waitForCalls("a call of each after turnd was killed");

    await first.end("SIGKILL");
    await reading;
    const second = await startNpmService(directory, env);
    const again = await logIn(second.url, directory);
    const readingOn = Promise.all(runs.map((run) => again.readOn(run)));
    await waitForCalls("a call of each after the service was killed");
    model.tell();
    await readingOn;

    for (const run of runs) {
      const calls = toolTexts(run);
      const { body: result } = await again.call("GET", `/api/agent/runs/${run.runId}/result`);
      expect(result).toMatchObject({ final: true, status: "completed", error: null });
      expect(result.output).toBe(`Made ${calls.length} calls.`);
      // Over two connections every event once; over two turnds and two services every call once.
      expect(calls).toEqual(calls.map((_, index) => `step ${index + 1}`));
      expect(run.kept.map(({ id }) => id)).toEqual(run.kept.map((_, index) => index + 1));
      expect(run.kept.at(-1)?.id).toBe(result.last_seq);
      expect(run.kept.filter(({ event }) => event === "end")).toEqual([run.kept.at(-1)]);
      expect(run.kept.filter(({ event }) => event === "error")).toEqual([]);
      expect(run.kept.filter(({ payload }) => payload.name === "svc.turn")).toHaveLength(1);
    }
    // turnd's own count: a session each, a turn each.
    const sessions = join(directory, "turnd/sessions");
    const turns = readdirSync(sessions).map((session) => readdirSync(join(sessions, session, "turns")).length);
    expect(turns).toEqual([1, 1]);

    // The conversations are whole: the next run of a thread resumes its CLI's session.
    for (const { slug, threadId } of runs) {
      const submission = { agent_slug: slug, thread_id: threadId, query: "@@text:Still here.@@" };
      const { body } = await again.call("POST", "/api/agent/runs", submission);
      const next: Followed = { slug, threadId, runId: body.run_id, kept: [] };
      await again.readOn(next);
      expect(next.kept.at(-1)).toMatchObject({ event: "end", payload: { status: "completed", degraded: false } });
      const bound = next.kept.find(({ payload }) => payload.name === "svc.session");
      expect(bound).toMatchObject({ payload: { resumed: true } });
    }
    expect(await second.end("SIGTERM")).toBe(0);
  },
);
