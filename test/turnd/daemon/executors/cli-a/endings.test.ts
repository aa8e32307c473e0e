import { describe, expect, test } from "vitest";
import {
  error,
  find,
  log,
  OTHER_SESSION,
  SESSION,
  stepFinish,
  stepStart,
  text,
  tool,
  translate,
  types,
} from "./lines.ts";

describe("errors and endings", () => {
  const overflow = error("ContextOverflowError", { message: "prompt is too long" });

  test("an error printed twice is one failure", () => {
    const { events, ending } = translate([overflow, overflow]);
    expect(types(events)).toEqual(["session.bound"]);
    expect(ending.failure).toMatchObject({ code: "context_overflow", isProven: true });
  });

  test("an error that the run recovered from is a warning, not a failure", () => {
    const { events, ending } = translate([overflow, stepStart(), text("summed up"), stepFinish("stop")]);
    expect(find(events, "warning").map(({ data }) => data)).toEqual([
      { code: "cli_error", message: "prompt is too long" },
    ]);
    expect(ending.failure).toBeUndefined();
  });

  test("an error after the last answer is a failure", () => {
    const late = error("APIError", { message: "no", statusCode: 401 });
    expect(translate([stepStart(), stepFinish("tool-calls"), late]).ending.failure?.code).toBe("auth_failed");
  });

  test("exit code 0 with a last step that called tools proves nothing", () => {
    const { ending } = translate([stepStart(), stepFinish("tool-calls")]);
    expect(ending.failure).toMatchObject({ code: "output_incomplete", isProven: false });
  });

  test("an abnormal exit after the last step is a crash that keeps the output", () => {
    const { ending } = translate([stepStart(), text("done"), stepFinish("stop")], { exit: { code: 1, signal: null } });
    expect(ending).toMatchObject({ output: "done", failure: { code: "crashed", rule: "exit-after-completion" } });
  });

  test("a process that turnd stopped proves nothing by its exit", () => {
    const { ending } = translate([stepStart()], { exit: { code: null, signal: "SIGKILL" }, wasStopped: true });
    expect(ending.failure?.isProven).toBe(false);
  });

  test("a process whose end was not observed is no success", () => {
    const { ending } = translate([stepStart(), stepFinish("stop")], { exit: null });
    expect(ending).toMatchObject({ failure: { code: "unknown", isProven: false } });
    expect(ending.proof).toBeUndefined();
  });

  test("a conversation that is summarised again and again without a tool call in between is stopped, a subagent's is not", () => {
    const created = { err: log(`service=session id=${SESSION} slug=a version=1.3.2 title=turn created`) };
    const step = (id: string): { err: string } => ({ err: log(`service=session.prompt step=0 sessionID=${id} loop`) });
    const summary = (id = SESSION): { err: string }[] => [
      step(id),
      {
        err: log(`service=llm providerID=p modelID=m sessionID=${id} small=false agent=compaction mode=primary stream`),
      },
    ];
    const isHalted = (lines: Parameters<typeof translate>[0]): boolean =>
      translate([created, ...lines]).translations.some(({ halt }) => halt !== undefined);
    const three = [summary(), summary(), summary()].flat();
    const call = tool("read", { status: "completed", output: "", title: "", metadata: {}, time: { start: 1, end: 2 } });
    expect(isHalted(three)).toBe(false);
    expect(isHalted([...three, call, ...three])).toBe(false);
    expect(isHalted([...three, ...summary(OTHER_SESSION)])).toBe(false);
    const { ending } = translate([created, ...three, ...summary()]);
    expect(ending.failure).toMatchObject({ rule: "endless-compaction", code: "context_overflow", isProven: true });
    expect(ending.failure?.evidence[0]).toMatchObject({ source: "stderr", line: 9 });
  });

  test("steps that end without a reason again and again stop the process", () => {
    const aimless = ["unknown", "other", "unknown", "other", "unknown"].map((reason) => stepFinish(reason));
    expect(translate(aimless.slice(1)).translations.some(({ halt }) => halt !== undefined)).toBe(false);
    expect(translate(aimless).translations.at(-1)?.halt).toMatchObject({ code: "provider_error", isProven: true });
  });

  test("steps that call tools lead somewhere, whatever reason they end with", () => {
    const steps = Array.from({ length: 8 }, (_, index) => [
      stepStart({ messageID: `msg_${index}` }),
      tool("read", { status: "completed" }),
      stepFinish("unknown"),
    ]).flat();
    expect(translate(steps).translations.some(({ halt }) => halt !== undefined)).toBe(false);
  });
});
