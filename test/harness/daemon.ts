import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { createParser } from "eventsource-parser";
import type { LoggedEvent, TurnAdmission, TurnResult } from "../../src/protocol/index.ts";
import { CLI_USER, REPOSITORY, userDirectory } from "./temporary.ts";

export interface DaemonOptions {
  /** Holds state, home and workspace; a second daemon on it goes on where the first stopped. */
  readonly directory: string;
  /** Laid over what every daemon of a test has; says which CLIs there are. */
  readonly env: Readonly<Record<string, string>>;
}

/** One frame of an event stream. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

/** A real daemon in a process of its own, and a client of it. */
export interface TestDaemon {
  readonly url: string;
  readonly pid: number;
  readonly workspace: string;
  readonly state: string;
  /** Lines of its log so far. */
  readonly log: readonly string[];
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  admit(body: Record<string, unknown>): Promise<TurnAdmission>;
  /** Runs a turn to its end. */
  run(body: Record<string, unknown>): Promise<TurnResult>;
  events(turnId: string): Promise<LoggedEvent[]>;
  /** Follows a turn's events until its end, a break, or the signal. */
  follow(turnId: string, options?: { afterSeq?: number; signal?: AbortSignal }): AsyncGenerator<Frame>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null for a signal. */
  readonly exited: Promise<number | null>;
  /** SIGTERM, and wait. */
  stop(): Promise<number | null>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into bodies of every shape; each asserts what it reads.
  readonly body: ReturnType<typeof JSON.parse>;
  readonly text: string;
}

/** Starts a daemon and waits until it listens. */
export async function startDaemon(options: DaemonOptions): Promise<TestDaemon> {
  const workspace = userDirectory(join(options.directory, "workspace"));
  const state = join(options.directory, "state");
  const child = execa(process.execPath, [join(REPOSITORY, "src/daemon/main.ts")], {
    extendEnv: false,
    env: {
      TURND_HOST: "127.0.0.1",
      TURND_PORT: "0",
      TURND_STATE_DIR: state,
      TURND_HOME: join(options.directory, "home"),
      TURND_WORKSPACE: workspace,
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
      ...options.env,
    },
    reject: false,
    stdin: "ignore",
    buffer: false,
    cleanup: true,
  });
  const log: string[] = [];
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  const keep = (line: string): void => {
    log.push(line);
    const url = /"url":"(http:[^"]+)"[^}]*"msg":"listening"/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  };
  createInterface({ input: child.stdout }).on("line", keep);
  createInterface({ input: child.stderr }).on("line", keep);
  const exited = Promise.resolve(child).then((result) => result.exitCode ?? null);
  const url = await Promise.race([
    listening,
    exited.then((code) => {
      throw new Error(`the daemon ended with ${code} before it listened:\n${log.join("\n")}`);
    }),
  ]);
  return createClient({
    url,
    pid: child.pid ?? 0,
    workspace,
    state,
    log,
    exited,
    kill: (name) => void child.kill(name),
  });
}

function createClient(
  parts: Pick<TestDaemon, "url" | "pid" | "workspace" | "state" | "log" | "exited" | "kill">,
): TestDaemon {
  async function request(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(`${parts.url}${path}`, {
      method,
      headers: body === undefined ? headers : { "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("application/json") === true;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : undefined, text };
  }

  async function admit(body: Record<string, unknown>): Promise<TurnAdmission> {
    const answer = await request("POST", "/v1/turns", body);
    if (answer.status !== 202 && answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
    return answer.body;
  }

  async function* follow(
    turnId: string,
    { afterSeq, signal }: { afterSeq?: number; signal?: AbortSignal } = {},
  ): AsyncGenerator<Frame> {
    const response = await fetch(`${parts.url}/v1/turns/${turnId}/events`, {
      headers: {
        accept: "text/event-stream",
        ...(afterSeq === undefined ? {} : { "last-event-id": String(afterSeq) }),
      },
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status === 204) return;
    if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
    const frames: Frame[] = [];
    const parser = createParser({ onEvent: ({ id, event, data }) => frames.push({ id, event, data }) });
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* frames.splice(0);
    }
  }

  return {
    ...parts,
    request,
    admit,
    follow,
    async run(body) {
      const { turn_id } = await admit(body);
      for await (const frame of follow(turn_id)) if (frame.event === "end") break;
      return (await request("GET", `/v1/turns/${turn_id}/result`)).body;
    },
    async events(turnId) {
      const { text } = await request("GET", `/v1/turns/${turnId}/events`);
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
    },
    async stop() {
      parts.kill("SIGTERM");
      return parts.exited;
    },
  };
}
