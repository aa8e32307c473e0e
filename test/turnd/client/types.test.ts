import { expectTypeOf, test } from "vitest";
import type { ReadEvent } from "../../../src/turnd/client/parse-event.ts";
import type { TurndClient, TurnRequestBody } from "../../../src/turnd/client/turnd-client.ts";
import type {
  FailureCode,
  FileEntry,
  NewerWord,
  Tolerant,
  TurnEndedData,
  TurnStatus,
} from "../../../src/turnd/protocol/index.ts";

/** Compiles only while each kind of event is narrowed by its `type`, and none is left out. */
function describe(event: ReadEvent): string {
  switch (event.type) {
    case "turn.started":
      return event.data.cli.name;
    case "session.bound":
      return event.data.native_session_id;
    case "session.degraded":
      return event.data.reason;
    case "step.started":
    case "step.ended":
      return String(event.data.index);
    case "message":
    case "reasoning":
      return event.data.text;
    case "tool.started":
      return event.data.kind;
    case "tool.ended":
      return event.data.status;
    case "plan.updated":
      return event.data.entries.map(({ content }) => content).join();
    case "retry":
      return event.data.code;
    case "permission.denied":
      return event.data.permission;
    case "warning":
      return event.data.message;
    case "record.unknown":
      return event.data.line;
    case "message.delta":
    case "reasoning.delta":
    case "tool.output":
      return event.data.text;
    case "message.discarded":
      return event.data.reason;
    case "approval.requested":
      return event.data.kind;
    case "approval.resolved":
      return event.data.decision;
    case "input.requested":
      return event.data.questions.map(({ text }) => text).join();
    case "input.answered":
      return event.data.by;
    case "input.accepted":
      return event.data.kind;
    case "turn.ended":
      return event.data.status;
    case "unknown":
      return event.event_type;
    case "unreadable":
      return event.line;
  }
}

test("events are narrowed by their type", () => {
  expectTypeOf(describe).returns.toBeString();
  expectTypeOf<Extract<ReadEvent, { type: "turn.ended" }>["data"]>().toEqualTypeOf<Tolerant<TurnEndedData>>();
  expectTypeOf<Extract<ReadEvent, { type: "retry" }>["data"]["code"]>().toEqualTypeOf<FailureCode | NewerWord>();
  expectTypeOf<ReadEvent>().not.toHaveProperty("data");
});

test("a word of a closed list may be one of a newer turnd, and nothing else is widened", () => {
  expectTypeOf<Awaited<ReturnType<TurndClient["turn"]>>["status"]>().toEqualTypeOf<TurnStatus | NewerWord>();
  type Result = Awaited<ReturnType<TurndClient["result"]>>;
  expectTypeOf<NonNullable<Result["failure"]>["code"]>().toEqualTypeOf<FailureCode | NewerWord>();
  expectTypeOf<Result["output"]>().toEqualTypeOf<string | null>();
  expectTypeOf<Result["exit"]>().toEqualTypeOf<TurnEndedData["exit"]>();
  expectTypeOf<FailureCode>().toExtend<NonNullable<Result["failure"]>["code"]>();
  expectTypeOf<NewerWord>().not.toExtend<FailureCode>();
  // A list of one word so far; the `type` of an event stays what it is narrowed by.
  type Denied = Awaited<ReturnType<TurndClient["session"]>>["permissions"]["execute"];
  expectTypeOf<Denied>().toEqualTypeOf<"deny" | NewerWord | undefined>();
  expectTypeOf<Awaited<ReturnType<TurndClient["listFiles"]>>["entries"][number]["type"]>().toEqualTypeOf<
    FileEntry["type"] | NewerWord
  >();
});

test("a request needs its input alone; defaults are turnd's, and a wrong word does not compile", () => {
  expectTypeOf<{ input: string; executor: string }>().toExtend<TurnRequestBody>();
  expectTypeOf<{ executor: string }>().not.toExtend<TurnRequestBody>();
  expectTypeOf<{ input: string; mode: "destroy" }>().not.toExtend<TurnRequestBody>();
  expectTypeOf<{ input: string; queue_policy: "steer" }>().toExtend<TurnRequestBody>();
});

test("every call of a client takes a signal", () => {
  type Signalled = { signal?: AbortSignal | undefined };
  expectTypeOf<{
    [Name in keyof TurndClient]: Parameters<TurndClient[Name]> extends [...unknown[]]
      ? Signalled extends NonNullable<Extract<Parameters<TurndClient[Name]>[number], object | undefined>>
        ? true
        : Extract<Parameters<TurndClient[Name]>[number], Signalled> extends never
          ? Name
          : true
      : Name;
  }>().toEqualTypeOf<{ [Name in keyof TurndClient]: true }>();
});
