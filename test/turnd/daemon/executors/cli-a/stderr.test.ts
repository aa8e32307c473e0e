import { describe, expect, test } from "vitest";
import { log, OTHER_SESSION, SESSION, stepFinish, stepStart, text, translate, types } from "./lines.ts";

const created = (id: string, rest = ""): { err: string } => ({
  err: log(`service=session id=${id} slug=a version=1.3.2 ${rest}title=turn time={"created":1} created`),
});
const loop = (id: string, key = "sessionID"): { err: string } => ({
  err: log(`service=session.prompt step=0 ${key}=${id} loop`),
});
const request = (id: string, key = "session.id", agent = "build"): { err: string } => ({
  err: log(`service=llm providerID=p modelID=m ${key}=${id} small=false agent=${agent} mode=primary stream`),
});
const failed = (
  error: Record<string, unknown>,
  key = "session.id",
  keys = "small=false agent=build",
): { err: string } => ({
  err: log(
    `service=llm providerID=p modelID=m ${key}=${SESSION} ${keys} mode=primary error=${JSON.stringify({ error })} stream error`,
    "ERROR",
  ),
});
const limited = {
  name: "AI_APICallError",
  statusCode: 429,
  isRetryable: true,
  responseBody: '{"error":{"message":"slow down"}}',
};
const stopped = { exit: { code: null, signal: "SIGKILL" }, wasStopped: true } as const;

test("a request in the log is asked, and answered when its session goes on", () => {
  const { translations } = translate([created(SESSION), loop(SESSION), request(SESSION), loop(SESSION), stepStart()]);
  expect(translations.map(({ request: sign }) => sign)).toEqual([
    undefined,
    "answered",
    "asked",
    "answered",
    undefined,
  ]);
});

describe("the session in the log", () => {
  test("is bound before the first byte on stdout, and once", () => {
    const { events } = translate([created(SESSION), stepStart(), stepFinish("stop")]);
    expect(types(events)).toEqual(["session.bound", "step.started", "step.ended"]);
    expect(events[0]?.native).toEqual({ source: "stderr", line: 1, id: SESSION });
  });

  test("is bound once when stdout comes first", () => {
    expect(types(translate([stepStart(), created(SESSION)]).events)).toEqual(["session.bound", "step.started"]);
  });

  test("of a subagent is not the turn's", () => {
    const { events, ending } = translate([created(OTHER_SESSION, `parentID=${SESSION} `), loop(OTHER_SESSION)]);
    expect(events).toEqual([]);
    expect(ending.nativeSessionId).toBeNull();
  });

  test.each(["sessionID", "session.id"])("proves a resume when it goes on (%s)", (key) => {
    const { events } = translate([loop(OTHER_SESSION, key), loop(SESSION, key)], { requested: SESSION });
    expect(events).toMatchObject([{ type: "session.bound", data: { native_session_id: SESSION, resumed: true } }]);
  });

  test("that a resume makes anew is not bound", () => {
    expect(translate([created(OTHER_SESSION)], { requested: SESSION }).events).toEqual([]);
  });

  test("does not keep another session on stdout from being stopped", () => {
    const lines = [loop(OTHER_SESSION), stepStart()];
    expect(translate(lines, { requested: OTHER_SESSION }).translations.at(-1)?.halt?.code).toBe("resume_degraded");
  });
});

describe("retries", () => {
  test.each(["sessionID", "session.id"])("each failed request that is made again is one (%s)", (key) => {
    const { events } = translate([
      created(SESSION),
      request(SESSION, key),
      failed(limited, key),
      request(SESSION, key),
      failed(limited, key),
    ]);
    expect(events.slice(1)).toMatchObject([
      { type: "retry", data: { attempt: 1, code: "rate_limited" }, native: { source: "stderr", line: 3 } },
      { type: "retry", data: { attempt: 2, code: "rate_limited" }, native: { line: 5 } },
    ]);
  });

  test("a request for the title is none", () => {
    const title = failed(limited, "session.id", "small=true agent=title");
    expect(translate([title]).events).toEqual([]);
  });

  test("a request that is refused for good is none, its error comes on stdout", () => {
    expect(translate([failed({ ...limited, statusCode: 401, isRetryable: false })]).events).toEqual([]);
  });

  test("an answer that breaks off shows only by the next request", () => {
    const { events } = translate([request(SESSION), stepStart(), request(SESSION)]);
    expect(events.at(-1)).toMatchObject({ type: "retry", data: { attempt: 1, code: "network_error" } });
  });

  test("an answer that breaks off is reported with the CLI's message where it has one", () => {
    const broke = {
      err: log("service=session.processor error=The socket connection was closed unexpectedly process", "ERROR"),
    };
    const { events, ending } = translate([request(SESSION), broke, request(SESSION)], stopped);
    expect(events).toMatchObject([
      { data: { code: "network_error", message: "The socket connection was closed unexpectedly" } },
    ]);
    expect(ending.failure).toMatchObject({ code: "network_error", isProven: true });
  });

  test("an answer that breaks off last is why a stopped turn failed, until a step goes on", () => {
    const broke = {
      err: log("service=session.processor error=The socket connection was closed unexpectedly process", "ERROR"),
    };
    expect(translate([request(SESSION), broke], stopped).ending.failure).toMatchObject({
      code: "network_error",
      isProven: true,
      evidence: [{ source: "stderr", line: 2 }],
    });
    const { failure } = translate([request(SESSION), broke, loop(SESSION)], stopped).ending;
    expect(failure).toMatchObject({ code: "unknown", isProven: false });
  });

  test("the next step's request is none", () => {
    expect(translate([request(SESSION), loop(SESSION), request(SESSION)]).events).toEqual([]);
  });

  test("a prompt that talks of status codes decides nothing", () => {
    const said = {
      name: "AI_APICallError",
      requestBodyValues: { a: '"statusCode":401 error={"error":{}}' },
      statusCode: 503,
      isRetryable: true,
    };
    expect(translate([failed(said)]).events).toMatchObject([{ data: { code: "provider_error" } }]);
  });

  test("a line of megabytes is read in linear time", () => {
    const requestBodyValues = { prompt: ' error={\\"'.repeat(300_000) };
    const start = performance.now();
    const { events } = translate([failed({ ...limited, requestBodyValues })]);
    expect(types(events)).toEqual(["retry"]);
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

describe("a stopped process", () => {
  test("failed with the cause that the log shows", () => {
    const { ending } = translate([created(SESSION), request(SESSION), failed(limited)], stopped);
    expect(ending.failure).toMatchObject({ code: "rate_limited", isProven: true });
    expect(ending.failure?.evidence[0]).toMatchObject({ source: "stderr", line: 3 });
  });

  test("did not fail with a cause that it got over", () => {
    const later = text("answer").replace("1795247726154", String(Date.parse("2026-11-21T08:00:09Z")));
    for (const lines of [
      [failed(limited), later],
      [later, failed(limited)],
      [failed(limited), loop(SESSION)],
    ]) {
      expect(translate(lines, stopped).ending.failure?.isProven).toBe(false);
    }
  });
});

describe("start-up", () => {
  const start = (err: string, options = {}) => translate([{ err }], { exit: { code: 1, signal: null }, ...options });

  test.each([
    ["\u001b[91m\u001b[1mError: \u001b[0mConfig file at /c/config.json is not valid JSON(C): ", "config_invalid"],
    ["EACCES: permission denied, mkdir '/home/sandbox/.cache/opencode'", "storage_error"],
    ["\u001b[91m\u001b[1mError: \u001b[0mYou must provide a message or a command", "invalid_request"],
    ["Failed to run the query 'PRAGMA journal_mode = WAL'", "storage_error"],
    ["error: The current working directory was deleted, so that command didn't work.", "executor_unavailable"],
  ])("%s is %s", (line, code) => {
    expect(start(line).ending.failure).toMatchObject({ code, isProven: true });
  });

  test("a store that cannot be read degrades a resume", () => {
    const { ending } = start("Failed to run the query 'PRAGMA journal_mode = WAL'", { requested: SESSION });
    expect(ending.failure?.code).toBe("resume_degraded");
  });

  test("words that look like a start-up failure are none once there are records", () => {
    const forged = { err: "Error: Configuration is invalid at /x" };
    const { ending } = translate([stepStart(), stepFinish("tool-calls"), forged]);
    expect(ending.failure?.code).toBe("output_incomplete");
  });

  test("a resume that leaves not a word behind is degraded", () => {
    expect(translate([], { requested: SESSION }).ending.failure).toMatchObject({
      code: "resume_degraded",
      rule: "resume-failed",
    });
  });

  test("an agent that is not there is reported", () => {
    const { events } = translate([
      { err: '\u001b[93m\u001b[1m! \u001b[0m agent "x" not found. Falling back to default agent' },
    ]);
    expect(events).toMatchObject([{ type: "warning", data: { code: "agent_not_found" } }]);
  });
});
