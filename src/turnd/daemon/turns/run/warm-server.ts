import type { InteractiveExecutor } from "../../executors/contract/interactive.ts";
import type { Invocation } from "../../executors/contract/invocation.ts";
import { openTail, type Tail } from "../../process/server/tail.ts";
import type { ServerProcess } from "../../process/server/server-process.ts";

/** Takes what a server prints while a turn of it runs. */
export interface ServerSink {
  /** Whole lines. */
  stdout(bytes: Buffer): void;
  stderr(bytes: Buffer): void;
}

/** A server that a session's turns are done by, one after the other. */
export interface WarmServer {
  readonly number: number;
  /** What distinguishes it from another that the next turn may need. */
  readonly key: string;
  readonly process: ServerProcess;
  readonly interactive: InteractiveExecutor;
  /** Names this turnd in the ids of its requests. */
  readonly epoch: string;
  /** The thread that it has open. */
  threadId: string | undefined;
  /** Whether it may do another turn. */
  isFit: boolean;
  /** Where its output stands. */
  position(): { readonly stdout: number; readonly stderr: number };
  /** Gives what is printed from now on to a turn, until the sink is let go. */
  attach(sink: ServerSink): () => void;
  /** Reads what is there at this moment. */
  look(): void;
  /** Greets it. @throws {GreetingError} */
  greet(limitMs: number): Promise<{ readonly isAdopted: boolean; readonly version?: string }>;
  /** Whether it gives a sign of life in time. */
  answers(limitMs: number): Promise<boolean>;
  close(): void;
}

/** A server does not answer as one that turnd knows. */
export class GreetingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "GreetingError";
  }
}

export interface WarmServerOptions {
  readonly number: number;
  readonly key: string;
  readonly process: ServerProcess;
  readonly interactive: InteractiveExecutor;
  /** What it is started for. */
  readonly invocation: Invocation;
  readonly epoch: string;
  /**
   * Of a server that an earlier turnd has started: what it prints from there on belongs to the turn that it does, and is read once that
   * has been attached. Law: nothing printed is dropped.
   */
  readonly from?: { readonly stdout: number; readonly stderr: number };
}

/** Begins to read a server. */
export function openWarmServer(options: WarmServerOptions): WarmServer {
  const { process, interactive, invocation, epoch, from = { stdout: 0, stderr: 0 } } = options;
  const isHeld = options.from !== undefined;
  const listeners = new Set<(line: string) => void>();
  let sink: ServerSink | undefined;
  let pings = 0;

  function take(bytes: Buffer): void {
    // First the turn: what it is given is what it has. Then whoever waits for a line.
    if (sink === undefined) lookBetween(bytes);
    else sink.stdout(bytes);
    if (listeners.size === 0) return;
    for (const line of bytes.toString("utf8").split("\n")) for (const listener of listeners) listener(line);
  }

  /** Nothing happens between turns: a server that begins one by itself does no other. */
  function lookBetween(bytes: Buffer): void {
    if (bytes.toString("utf8").split("\n").some(interactive.isUnasked)) server.isFit = false;
  }

  const stdout: Tail = openTail({ path: process.stdoutPath, from: from.stdout, isByLine: true, isHeld, take });
  const stderr: Tail = openTail({
    path: process.stderrPath,
    from: from.stderr,
    isByLine: false,
    isHeld,
    take: (bytes) => sink?.stderr(bytes),
  });

  /** Waits for a line; undefined where none came in time, or the server has ended. */
  async function waitFor<T>(
    read: (line: string) => T | undefined,
    limitMs: number,
    ask: () => Promise<void>,
  ): Promise<T | undefined> {
    const found = Promise.withResolvers<T | undefined>();
    const listener = (line: string): void => {
      const value = read(line);
      if (value !== undefined) found.resolve(value);
    };
    listeners.add(listener);
    const timer = setTimeout(() => found.resolve(undefined), limitMs);
    void process.exited.then(
      () => found.resolve(undefined),
      () => found.resolve(undefined),
    );
    try {
      await ask();
      return await found.promise;
    } finally {
      clearTimeout(timer);
      listeners.delete(listener);
    }
  }

  const server: WarmServer = {
    number: options.number,
    key: options.key,
    process,
    interactive,
    epoch,
    threadId: undefined,
    isFit: true,
    position: () => ({ stdout: stdout.end(), stderr: stderr.end() }),
    attach(given) {
      sink = given;
      stdout.begin();
      stderr.begin();
      return () => {
        if (sink === given) sink = undefined;
      };
    },
    look() {
      stdout.look();
      stderr.look();
    },
    async greet(limitMs) {
      const greeting = await waitFor(
        (line) => interactive.readGreeting(line, epoch),
        limitMs,
        // What an earlier turnd had begun to write ends here; alone it is no request.
        () => process.channel.write(`\n${interactive.greet(epoch, invocation).join("\n")}\n`),
      );
      if (greeting === undefined) throw new GreetingError("it did not answer");
      if (!greeting.ok) throw new GreetingError(greeting.reason);
      return greeting;
    },
    async answers(limitMs) {
      pings += 1;
      const id = `${epoch}:${pings}:ping`;
      const isPong = (line: string): true | undefined => (interactive.isPong(line, id) ? true : undefined);
      const asked = (): Promise<void> => process.channel.write(`${interactive.ping(id)}\n`);
      return (await waitFor(isPong, limitMs, asked).catch(() => undefined)) === true;
    },
    close() {
      stdout.close();
      stderr.close();
    },
  };
  return server;
}
