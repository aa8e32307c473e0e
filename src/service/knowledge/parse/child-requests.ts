import { createWriteStream } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { explainEnd } from "./explain.ts";
import { isParseFailureCode, ParseFailed } from "./failures.ts";
import { BadFrame, type Frame } from "./frames.ts";
import type { ParserChild } from "./limits.ts";
import { ChildMessage, INPUT_FILE, type ChildRequest } from "./messages.ts";

/** What a request gives on its way: messages that do not end it, and Markdown. The generator returns how it was done. */
export type Step =
  | Extract<ChildMessage, { type: "progress" | "chunks" }>
  | { readonly type: "markdown"; readonly bytes: Buffer };
export type Done = Extract<ChildMessage, { type: "done" }>;

/** The bounds of one request. */
export interface Bounds {
  /** Of the child's work; the time in which the caller has the step is not counted. */
  readonly timeoutMs: number;
  readonly cpuSeconds: number;
  readonly signal: AbortSignal;
}

/** Writes the bytes of a request to where its child looks for them. */
export async function handInput(child: ParserChild, source: Readable, signal: AbortSignal): Promise<void> {
  await pipeline(source, createWriteStream(join(child.directory, INPUT_FILE), { flags: "wx", mode: 0o600 }), {
    signal,
  });
}

/**
 * Has a child do one thing, and passes on its messages.
 *
 * @throws {ParseFailed}, or the signal's reason. After either, and when it is not read to its end, the child is of no more use
 */
export async function* exchange(child: ParserChild, request: ChildRequest, bounds: Bounds): AsyncGenerator<Step, Done> {
  const { signal } = bounds;
  const onAbort = (): void => child.kill("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  let leftMs = bounds.timeoutMs;
  try {
    signal.throwIfAborted();
    child.send(request);
    for (;;) {
      const started = performance.now();
      const timer = setTimeout(() => child.kill("timeout"), Math.max(leftMs, 0));
      const frame = await nextFrame(child).finally(() => clearTimeout(timer));
      leftMs -= performance.now() - started;
      if (frame === undefined) throw await whyEnded(child, bounds, bounds.timeoutMs - leftMs);
      const step = toStep(child, frame);
      if (step.type === "ready") continue;
      if (step.type === "failed") throw reportedFailure(step);
      if (step.type === "done") return step;
      yield step;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function nextFrame(child: ParserChild): Promise<Frame | undefined> {
  try {
    return await child.next();
  } catch (error) {
    if (error instanceof BadFrame) throw confused(child, error.message);
    throw error;
  }
}

function toStep(child: ParserChild, frame: Frame): ChildMessage | Extract<Step, { type: "markdown" }> {
  if (frame.kind === "markdown") return { type: "markdown", bytes: frame.bytes };
  try {
    return ChildMessage.parse(JSON.parse(frame.json));
  } catch (error) {
    throw confused(child, error instanceof Error ? error.message : String(error));
  }
}

/** A child that sends an invalid message gets no further request. */
function confused(child: ParserChild, message: string): ParseFailed {
  child.kill("retired");
  return new ParseFailed("parser_crashed", `the parser's answer cannot be read: ${message}`);
}

function reportedFailure({ code, message }: Extract<ChildMessage, { type: "failed" }>): ParseFailed {
  return new ParseFailed(isParseFailureCode(code) ? code : "parser_crashed", message);
}

async function whyEnded(child: ParserChild, bounds: Bounds, busyMs: number): Promise<unknown> {
  const end = await child.ended;
  switch (child.killedFor()) {
    case "aborted":
      return bounds.signal.reason;
    case "timeout":
      return new ParseFailed("parser_timeout", `the parser took longer than ${bounds.timeoutMs} ms`);
    case "memory":
      return new ParseFailed("parser_memory", "the parser took more memory than it may");
    case "output":
      return new ParseFailed("output_limit", "the parser wrote more than it may");
    case "retired":
      return new Error("the parser was closed");
    case undefined:
      return explainEnd({ ...end, wasBusyToTheEnd: busyMs > bounds.cpuSeconds * 900 });
  }
}
