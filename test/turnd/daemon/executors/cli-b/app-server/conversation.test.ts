import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { createConversation } from "../../../../../../src/turnd/daemon/executors/cli-b/app-server/conversation.ts";
import type { Conversation } from "../../../../../../src/turnd/daemon/executors/contract/interactive.ts";

const KEY = "FAKE-SENTINEL-KEY-0123456789";
const THREAD = "01a219d8-f79e-7b52-966c-1311b45fdb6e";
const TURN = "01a219b9-4bee-7711-9faf-ee8d2513cf3e";
const CLIENT = "01a219d8-49df-7583-9f77-1f90786bc8df";

function configuration() {
  const env = { CLI_B_API_KEY: KEY, CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:1/v1" };
  const result = cliB.configure({ env, cliName: "codex" });
  if (!result.ok) throw new Error(result.errors.join());
  return result.configuration;
}

interface Options {
  readonly epoch?: string;
  readonly loadedThread?: string;
  readonly resume?: string;
  readonly isAsking?: boolean;
}

function converse({ epoch = "e1", loadedThread, resume, isAsking = false }: Options = {}): Conversation {
  return createConversation({
    epoch,
    turnId: CLIENT,
    nowMs: 0,
    requestId: "request-1",
    prompt: "Say hello.",
    invocation: {
      mode: "execute",
      configuration: configuration(),
      workspace: "/workspace",
      permissions: {},
      images: [],
      ...(resume === undefined ? {} : { resume }),
    },
    isAsking,
    loadedThread,
  });
}

/** Plays a server: every line goes into what a later conversation reads again. */
function play(conversation: Conversation, lines: string[] = []) {
  const sent: Record<string, unknown>[] = [];
  function drive(): void {
    for (let out = conversation.next(); out.length > 0; out = conversation.next()) {
      for (const { record, message } of out) {
        if (record !== undefined) {
          lines.push(record);
          conversation.observe(record);
        }
        if (message !== undefined) sent.push(JSON.parse(message));
      }
    }
  }
  function say(message: object): void {
    const line = JSON.stringify(message);
    lines.push(line);
    conversation.observe(line);
    drive();
  }
  const last = (): Record<string, unknown> => sent.at(-1) ?? {};
  /** Answers what was asked last. */
  const reply = (result: object): void => say({ id: last()["id"], result });
  const fail = (message: string): void => say({ id: last()["id"], error: { code: -32_600, message } });
  drive();
  return { sent, lines, say, reply, fail, last, drive, methods: () => sent.map(({ method }) => method) };
}

type Server = ReturnType<typeof play>;

function runTurn(server: Server): void {
  server.reply({ turn: { id: TURN } });
  server.say({ method: "turn/started", params: { threadId: THREAD, turn: { id: TURN } } });
}
function endTurn(server: Server, status = "completed"): void {
  server.say({ method: "turn/completed", params: { threadId: THREAD, turn: { id: TURN, status } } });
}

describe("a turn", () => {
  test("opens a thread, empties its queue, is asked for once, and removes what it has left", () => {
    const conversation = converse();
    const server = play(conversation);
    expect(server.last()).toMatchObject({ method: "thread/start", params: { approvalPolicy: "never" } });
    server.reply({ thread: { id: THREAD } });
    expect(server.last()).toMatchObject({ method: "thread/queue/list", params: { threadId: THREAD } });
    server.reply({ data: [{ id: "q1" }, { id: "q2" }] });
    expect(server.methods().slice(-2)).toEqual(["thread/queue/delete", "thread/queue/delete"]);
    server.reply({ deleted: true });
    expect(server.last()).toMatchObject({
      method: "turn/start",
      params: { threadId: THREAD, clientUserMessageId: CLIENT, input: [{ type: "text", text: "Say hello." }] },
    });
    expect(conversation.state()).toMatchObject({ isBegun: true, isEnded: false });
    runTurn(server);
    endTurn(server);
    expect(server.last()).toMatchObject({ method: "thread/backgroundTerminals/clean" });
    expect(conversation.state()).toMatchObject({ isEnded: true, isOver: false });
    server.reply({});
    expect(server.last()).toMatchObject({ method: "thread/queue/list" });
    server.reply({ data: [] });
    expect(conversation.state()).toMatchObject({ isOver: true, hasTools: false });
    expect(server.methods().filter((method) => method === "turn/start")).toHaveLength(1);
  });

  test("on a server that has the thread open begins with its queue", () => {
    const server = play(converse({ loadedThread: THREAD, resume: THREAD }));
    expect(server.methods()).toEqual(["thread/queue/list"]);
  });

  test("of a session goes on in its thread", () => {
    const server = play(converse({ resume: THREAD }));
    expect(server.last()).toMatchObject({ method: "thread/resume", params: { threadId: THREAD, excludeTurns: true } });
  });

  test("whose thread cannot be opened is over, and was never asked for", () => {
    const conversation = converse({ resume: THREAD });
    play(conversation).fail(`no rollout found for thread id ${THREAD}`);
    expect(conversation.state()).toMatchObject({ isBegun: false, isEnded: true, isOver: true });
  });

  // Law: keys travel aside.
  test("has neither the key nor the prompt in what stands in its files", () => {
    const server = play(converse());
    expect(JSON.stringify(server.sent)).toContain(KEY);
    server.reply({ thread: { id: THREAD } });
    server.reply({ data: [] });
    expect(server.last()).toMatchObject({ method: "turn/start" });
    expect(server.lines.join("\n")).not.toContain(KEY);
    expect(server.lines.join("\n")).not.toContain("Say hello.");
  });
});

describe("a turn that is to end", () => {
  test("before it was asked for is never asked for", () => {
    const conversation = converse();
    const server = play(conversation);
    conversation.interrupt();
    server.reply({ thread: { id: THREAD } });
    expect(server.methods()).toEqual(["thread/start"]);
    expect(conversation.state()).toMatchObject({ isOver: true, isBegun: false });
  });

  test("is interrupted once it has started, and cleaned as any other", () => {
    const conversation = converse({ loadedThread: THREAD });
    const server = play(conversation);
    server.reply({ data: [] });
    conversation.interrupt();
    server.reply({ turn: { id: TURN } });
    expect(server.last()).toMatchObject({ method: "turn/start" });
    server.say({ method: "turn/started", params: { threadId: THREAD, turn: { id: TURN } } });
    expect(server.last()).toMatchObject({ method: "turn/interrupt", params: { threadId: THREAD, turnId: TURN } });
    server.reply({});
    endTurn(server, "interrupted");
    expect(server.last()).toMatchObject({ method: "thread/backgroundTerminals/clean" });
  });
});

test("a turn that turnd did not begin is interrupted, and nothing is asked for before it has ended", () => {
  const server = play(converse({ loadedThread: THREAD }));
  server.say({ method: "turn/started", params: { threadId: THREAD, turn: { id: "foreign" } } });
  server.say({ id: server.sent[0]?.["id"], result: { data: [] } });
  expect(server.last()).toMatchObject({ method: "turn/interrupt", params: { turnId: "foreign" } });
  server.reply({});
  expect(server.methods()).not.toContain("turn/start");
  server.say({
    method: "turn/completed",
    params: { threadId: THREAD, turn: { id: "foreign", status: "interrupted" } },
  });
  expect(server.last()).toMatchObject({ method: "turn/start" });
});

// Law: at most once.
describe("after kill -9 of turnd", () => {
  /** What a turnd had said that was killed, after so many lines. */
  function killedAfter(play_: (server: Server) => void): string[] {
    const server = play(converse({ loadedThread: THREAD }));
    play_(server);
    return server.lines;
  }
  function goOn(lines: readonly string[], options: Options = {}) {
    const conversation = converse({ epoch: "e2", ...options });
    for (const line of lines) conversation.observe(line);
    return { conversation, server: play(conversation, [...lines]) };
  }

  test("a turn that runs is not asked for again", () => {
    const lines = killedAfter((server) => {
      server.reply({ data: [] });
      runTurn(server);
    });
    const { conversation, server } = goOn(lines);
    expect(server.sent).toEqual([]);
    endTurn(server);
    server.reply({});
    server.reply({ data: [] });
    expect(conversation.state()).toMatchObject({ isOver: true, threadId: THREAD });
  });

  test("a turn whose request has no answer is looked for, and found", () => {
    const { server } = goOn(killedAfter((one) => one.reply({ data: [] })));
    expect(server.methods()).toEqual(["thread/turns/list"]);
    server.reply({ data: [{ id: TURN, status: "inProgress", items: [{ type: "userMessage", clientId: CLIENT }] }] });
    endTurn(server);
    expect(server.methods()).not.toContain("turn/start");
    expect(server.last()).toMatchObject({ method: "thread/backgroundTerminals/clean" });
  });

  test("one that was completed meanwhile is not begun again", () => {
    const { server } = goOn(killedAfter((one) => one.reply({ data: [] })));
    server.reply({ data: [{ id: TURN, status: "completed", items: [{ type: "userMessage", clientId: CLIENT }] }] });
    expect(server.methods()).toEqual(["thread/turns/list", "thread/backgroundTerminals/clean"]);
  });

  test("one that the server never got is asked for, once it was looked for twice", () => {
    const { server } = goOn(killedAfter((one) => one.reply({ data: [] })));
    server.reply({ data: [] });
    expect(server.methods()).toEqual(["thread/turns/list", "thread/turns/list"]);
    server.reply({ data: [] });
    expect(server.last()).toMatchObject({ method: "turn/start", params: { clientUserMessageId: CLIENT } });
    expect(server.methods().filter((method) => method === "turn/start")).toHaveLength(1);
  });

  test("its answer that comes late is as good", () => {
    const lines = killedAfter((server) => server.reply({ data: [] }));
    const { server } = goOn(lines);
    const asked = lines.map((line) => JSON.parse(line)).findLast(({ method }) => method === "turn/start");
    server.say({ id: asked.id, result: { turn: { id: TURN } } });
    server.reply({ data: [] });
    expect(server.methods()).not.toContain("turn/start");
  });

  test("an approval that was pending still is; one that was answered is answered once more, and recorded once", () => {
    const request = {
      method: "item/commandExecution/requestApproval",
      id: 0,
      params: { threadId: THREAD, turnId: TURN, itemId: "c1", command: "ls" },
    };
    const before = play(converse({ loadedThread: THREAD, isAsking: true }));
    before.reply({ data: [] });
    runTurn(before);
    before.say(request);
    const pending = goOn(before.lines, { isAsking: true });
    expect(pending.conversation.state().asks).toHaveLength(1);
    expect(pending.server.sent).toEqual([]);

    expect(pending.conversation.answer("0", { kind: "approval", decision: "accept" }, "client")).toBe("taken");
    pending.server.drive();
    expect(pending.server.last()).toEqual({ id: 0, result: { decision: "accept" } });
    const answered = goOn(pending.server.lines, { isAsking: true, epoch: "e3" });
    expect(answered.server.sent).toEqual([{ id: 0, result: { decision: "accept" } }]);
    expect(answered.server.lines).toEqual(pending.server.lines);
    expect(answered.conversation.answer("0", { kind: "approval", decision: "accept" }, "client")).toBe("same");
    expect(answered.conversation.answer("0", { kind: "approval", decision: "decline" }, "client")).toBe("resolved");
  });
});

describe("what the server asks", () => {
  function ask(isAsking: boolean, method: string, params: object = {}) {
    const conversation = converse({ loadedThread: THREAD, isAsking });
    const server = play(conversation);
    server.reply({ data: [] });
    runTurn(server);
    server.say({ method, id: 7, params: { threadId: THREAD, turnId: TURN, itemId: "c1", ...params } });
    return { conversation, server };
  }

  test("is declined at once where nobody is to be asked", () => {
    const { conversation, server } = ask(false, "item/commandExecution/requestApproval", { command: "ls" });
    expect(server.last()).toEqual({ id: 7, result: { decision: "decline" } });
    expect(conversation.state().asks).toEqual([]);
  });

  test("is refused at once where turnd does not know it, or the turn would hang", () => {
    const { server } = ask(true, "attestation/generate");
    expect(server.last()).toMatchObject({ id: 7, error: { code: -32_601 } });
  });

  test("is declined with a reason that the model is told, once, whatever is killed meanwhile", () => {
    const { conversation, server } = ask(true, "item/commandExecution/requestApproval", { command: "ls" });
    conversation.answer("7", { kind: "approval", decision: "decline", note: "Use find." }, "client");
    server.drive();
    expect(server.sent.slice(-2)).toMatchObject([
      { id: 7, result: { decision: "decline" } },
      { method: "turn/steer", params: { input: [{ type: "text", text: "Use find." }] } },
    ]);
    const next = converse({ epoch: "e2", isAsking: true });
    for (const line of server.lines) next.observe(line);
    expect(play(next).methods()).not.toContain("turn/steer");
    const early = converse({ epoch: "e2", isAsking: true });
    for (const line of server.lines.filter((one) => !one.includes("turn/steer"))) early.observe(line);
    expect(play(early).methods()).toContain("turn/steer");
  });

  test("is dropped with its turn", () => {
    const { conversation, server } = ask(true, "item/commandExecution/requestApproval", { command: "ls" });
    endTurn(server, "interrupted");
    expect(conversation.state().asks).toEqual([]);
    expect(server.lines).toContain('{"turnd":"answered","id":7,"decision":"cancel","by":"turn_ended"}');
  });

  test("is a question with its options; a secret answer stands in no file", () => {
    const questions = [{ id: "q", header: "H", question: "Which?", isSecret: true, isOther: true, options: null }];
    const { conversation, server } = ask(true, "item/tool/requestUserInput", { questions, isBlocking: true });
    expect(conversation.state().asks).toMatchObject([
      { kind: "input", request: { question_id: "7", questions: [{ id: "q", free_text: true, secret: true }] } },
    ]);
    expect(conversation.answer("7", { kind: "input", answers: { q: ["hunter22"] } }, "client")).toBe("taken");
    server.drive();
    expect(server.last()).toEqual({ id: 7, result: { answers: { q: { answers: ["hunter22"] } } } });
    expect(server.lines.join("\n")).not.toContain("hunter22");
  });
});

describe("what a later turn says", () => {
  const LATER = { turnId: "later", requestId: "request-2", prompt: "Stop that.", nowMs: 0 };
  const steers = ({ sent }: Server) => sent.filter(({ method }) => method === "turn/steer");

  /** Up to where the turn is asked for. */
  function asked(options: Options = {}, lines: string[] = []) {
    const conversation = converse({ loadedThread: THREAD, ...options });
    return { conversation, server: play(conversation, lines) };
  }

  test("goes into the running turn, and its text is not in the turn's output", () => {
    const { conversation, server } = asked();
    server.reply({ data: [] });
    conversation.give?.(LATER);
    server.drive();
    expect(steers(server)).toEqual([]);
    runTurn(server);
    expect(steers(server)).toMatchObject([
      {
        params: {
          threadId: THREAD,
          expectedTurnId: TURN,
          clientUserMessageId: "later",
          input: [{ type: "text", text: "Stop that." }],
        },
      },
    ]);
    const record = server.lines.find((line) => line.includes("turn/steer")) ?? "";
    expect(JSON.parse(record)).toMatchObject({ turnd: "asked", request_id: "request-2" });
    expect(record).not.toContain("Stop that.");
  });

  test("is not said to a turn that has ended, or is to end", () => {
    for (const finish of [
      (server: Server) => endTurn(server),
      (_: Server, conversation: Conversation) => conversation.interrupt(),
    ]) {
      const { conversation, server } = asked();
      server.reply({ data: [] });
      runTurn(server);
      finish(server, conversation);
      conversation.give?.(LATER);
      server.drive();
      expect(steers(server)).toEqual([]);
    }
  });

  // Law: at most once.
  test("is not said again by the next turnd, which does not know whether the server has it", () => {
    const lines: string[] = [];
    const { conversation, server } = asked({}, lines);
    server.reply({ data: [] });
    runTurn(server);
    conversation.give?.(LATER);
    server.drive();
    expect(steers(server)).toHaveLength(1);
    const next = converse({ epoch: "e2" });
    for (const line of lines) next.observe(line);
    const later = play(next);
    endTurn(later);
    expect(steers(later)).toEqual([]);
  });
});
