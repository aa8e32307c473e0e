import { expect, test } from "vitest";
import { createConversation } from "../../../../../../src/turnd/daemon/executors/cli-a/server/conversation.ts";
import { SERVER } from "../../../../../../src/turnd/daemon/executors/cli-a/server/server.ts";
import { configure } from "../../../../../../src/turnd/daemon/executors/cli-a/config/variables.ts";
import type {
  Conversation,
  ConversationInput,
} from "../../../../../../src/turnd/daemon/executors/contract/interactive.ts";

const TURN = "01a21a8c-6a81-716f-ae6c-c82d9be15cc3";
const SESSION = "ses_de5737d8fffeNulC6EecroJYOY";
const KEY = "FAKE-KEY-OF-THIS-TEST";

const configured = configure({
  env: {
    CLI_A_PROVIDER: "p",
    CLI_A_MODEL: "m",
    CLI_A_BASE_URL: "http://127.0.0.1:1/v1",
    CLI_A_API_KEY: KEY,
  },
  cliName: "cli-a",
});
if (!configured.ok) throw new Error(configured.errors.join());
const { configuration } = configured;

type Message = Readonly<Record<string, unknown>> & { readonly id: string };

/** A conversation, and what it has said: each line is on the disk before it is sent. */
function converse(given: Partial<ConversationInput> = {}, resume?: string) {
  const conversation: Conversation = createConversation({
    epoch: "a1",
    turnId: TURN,
    nowMs: 1_795_740_432_145,
    requestId: "request-1",
    prompt: "Say hello.",
    invocation: {
      mode: "execute",
      configuration,
      workspace: "/work space",
      permissions: {},
      images: [],
      ...(resume === undefined ? {} : { resume }),
    },
    isAsking: false,
    loadedThread: undefined,
    ...given,
  });
  const records: string[] = [];
  const sent: Message[] = [];
  function drive(): void {
    for (let out = conversation.next(); out.length > 0; out = conversation.next()) {
      for (const { record, message } of out) {
        if (record !== undefined) {
          records.push(record);
          conversation.observe(record);
        }
        if (message !== undefined) sent.push(JSON.parse(message) as Message);
      }
    }
  }
  function hear(...lines: readonly object[]): void {
    for (const line of lines) conversation.observe(JSON.stringify({ at: 1, ...line }));
    drive();
  }
  const reply = (body: object, status = 200): void => hear({ id: sent.at(-1)?.id, status, body });
  drive();
  return { conversation, records, sent, hear, reply, drive, last: () => sent.at(-1) };
}

const event = (type: string, properties: object = {}): object => ({
  event: { id: "evt_1", type, properties: { sessionID: SESSION, ...properties } },
});
const BUSY = event("session.status", { status: { type: "busy" } });
const inputSeen = (messageID: unknown, seq = 2): object => ({
  sync: {
    id: `evt_${seq}`,
    type: "message.updated.1",
    seq,
    aggregateID: SESSION,
    data: { sessionID: SESSION, info: { id: messageID, role: "user" } },
  },
});
const bodyOf = (message: Message | undefined) => message?.["body"] as Record<string, unknown>;

test("a session is made, the input is handed over, and the end is looked up in the store", () => {
  const { conversation, sent, reply, hear, records } = converse();
  expect(sent[0]).toMatchObject({
    method: "POST",
    path: "/session?directory=%2Fwork%20space",
    body: { title: "turn" },
  });
  reply({ id: SESSION });
  expect(sent[1]).toMatchObject({
    method: "POST",
    path: `/session/${SESSION}/message?directory=%2Fwork%20space`,
    body: { model: { providerID: "p", modelID: "m" }, parts: [{ type: "text", text: "Say hello." }] },
  });
  expect(bodyOf(sent[1])["messageID"]).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
  expect(records.join("\n")).not.toContain("Say hello.");
  expect(conversation.state()).toMatchObject({ isBegun: true, isEnded: false, threadId: SESSION });
  hear(inputSeen(bodyOf(sent[1])["messageID"]), BUSY);
  hear({ id: sent[1]?.id, status: 200, body: { info: {} } });
  expect(sent[2]).toMatchObject({ settle: { status: "/session/status?directory=%2Fwork%20space", from: {} } });
  expect(conversation.state()).toMatchObject({ isEnded: true, isOver: false });
  reply({ busy: [] });
  expect(conversation.state().isOver).toBe(true);
  expect(sent).toHaveLength(3);
});

test("a session is looked up before it is gone on with, and one that is open is not", () => {
  expect(converse({}, SESSION).last()).toMatchObject({
    method: "GET",
    path: `/session/${SESSION}?directory=%2Fwork%20space`,
  });
  const gone = converse({}, SESSION);
  gone.reply({ name: "NotFoundError", data: { message: "no" } }, 404);
  expect(gone.conversation.state()).toMatchObject({ isBegun: false, isOver: true });
  expect(converse({ loadedThread: SESSION }, SESSION).last()).toMatchObject({ method: "POST" });
});

// Law: at most once.
test("what a turnd that was killed had said is said once more under the same ids", () => {
  const first = converse();
  first.reply({ id: SESSION });
  const second = converse({ epoch: "b2", nowMs: 9_999_999_999_999 });
  const fresh = second.sent.length;
  const again = createAgain(first.records.slice(0, 1));
  expect(again.sent.map(({ id }) => id)).toEqual([first.sent[0]?.id]);
  const later = createAgain([
    ...first.records,
    JSON.stringify({ at: 1, id: first.sent[0]?.id, status: 200, body: { id: SESSION } }),
  ]);
  expect(later.sent).toEqual([first.sent[1]]);
  expect(later.records).toEqual([]);
  expect(fresh).toBe(1);
});

function createAgain(lines: readonly string[]) {
  const conversation = createConversation({
    epoch: "b2",
    turnId: TURN,
    nowMs: 1,
    requestId: "request-1",
    prompt: "Say hello.",
    invocation: { mode: "execute", configuration, workspace: "/work space", permissions: {}, images: [] },
    isAsking: true,
    loadedThread: undefined,
  });
  for (const line of lines) conversation.observe(line);
  const out = conversation.next();
  return {
    conversation,
    sent: out.flatMap(({ message }) => (message === undefined ? [] : [JSON.parse(message) as Message])),
    records: out.flatMap(({ record }) => (record === undefined ? [] : [record])),
  };
}

test("a turn is interrupted once it runs, and not begun where it is to end before", () => {
  const { conversation, sent, reply, hear, drive } = converse();
  reply({ id: SESSION });
  conversation.interrupt();
  drive();
  expect(sent).toHaveLength(2);
  hear(BUSY);
  expect(sent[2]).toMatchObject({ method: "POST", path: `/session/${SESSION}/abort?directory=%2Fwork%20space` });
  hear(BUSY);
  expect(sent).toHaveLength(3);

  const early = converse();
  early.conversation.interrupt();
  early.drive();
  expect(early.conversation.state()).toMatchObject({ isBegun: false, isOver: true });
});

const ASKED = event("permission.asked", {
  id: "per_1",
  permission: "bash",
  patterns: ["ls"],
  metadata: { command: "ls" },
});

test("a person answers once, and the answer is on the disk before the server has it", () => {
  const { conversation, hear, reply, records, last, drive } = converse({ isAsking: true });
  reply({ id: SESSION });
  hear(BUSY, ASKED);
  expect(conversation.state().asks).toMatchObject([
    { kind: "approval", request: { approval_id: "per_1", kind: "execute", title: "ls" } },
  ]);
  const accept = { kind: "approval", decision: "accept" } as const;
  expect(conversation.answer("per_1", accept, "client")).toBe("taken");
  drive();
  expect(JSON.parse(records.at(-1) ?? "")).toEqual({
    turnd: "answered",
    id: "per_1",
    decision: "accept",
    by: "client",
  });
  expect(last()).toMatchObject({
    id: "answer:per_1",
    path: expect.stringContaining("/permission/per_1/reply"),
    body: { reply: "once" },
  });
  expect(conversation.answer("per_1", accept, "client")).toBe("same");
  expect(conversation.answer("per_1", { kind: "approval", decision: "decline" }, "client")).toBe("resolved");
  expect(conversation.answer("per_2", accept, "client")).toBe("unknown");
});

test("where nobody is asked everything is declined at once; a question is answered with nothing", () => {
  const { conversation, hear, reply, sent } = converse();
  reply({ id: SESSION });
  const question = event("question.asked", { id: "que_1", questions: [{ question: "Which?", options: [] }] });
  hear(BUSY, ASKED, question);
  expect(sent.slice(2)).toMatchObject([
    {
      path: expect.stringContaining("/permission/per_1/reply"),
      body: { reply: "reject", message: expect.any(String) },
    },
    { path: expect.stringContaining("/question/que_1/reply"), body: { answers: [[]] } },
  ]);
  expect(conversation.state().asks).toEqual([]);
});

test("what was asked while the stream was broken off is known of the server's lists", () => {
  const { conversation, hear, reply } = converse({ isAsking: true });
  reply({ id: SESSION });
  hear({ lists: { permission: [{ id: "per_9", sessionID: SESSION, permission: "edit", patterns: ["a.txt"] }] } });
  expect(conversation.state().asks).toMatchObject([{ request: { approval_id: "per_9", kind: "edit" } }]);
});

test("what a later turn says goes into the running one, and its own answer belongs to that, too", () => {
  const { conversation, hear, reply, sent, records, drive } = converse();
  conversation.give?.({
    turnId: "01a21a8c-0000-7000-8000-00000000beef",
    requestId: "request-2",
    prompt: "Stop that.",
    nowMs: 2,
  });
  reply({ id: SESSION });
  expect(sent).toHaveLength(2);
  hear(inputSeen(bodyOf(sent[1])["messageID"]), BUSY);
  drive();
  expect(bodyOf(sent[2])).toMatchObject({ parts: [{ text: "Stop that." }] });
  expect(records.at(-1)).toContain('"method":"steer"');
  expect(records.at(-1)).not.toContain("Stop that.");
  hear({ id: sent[1]?.id, status: 200, body: {} });
  expect(conversation.state().isEnded).toBe(false);
  hear({ id: sent[2]?.id, status: 200, body: {} });
  expect(conversation.state().isEnded).toBe(true);
});

test("an input that the stream did not have is asked for from before the first change that it had", () => {
  const { hear, reply, last, sent } = converse({ loadedThread: SESSION }, SESSION);
  hear({ sync: { id: "e", type: "session.updated.1", seq: 500, aggregateID: SESSION, data: {} } });
  hear({ id: sent[0]?.id, status: 200, body: {} });
  expect(last()).toMatchObject({ settle: { from: { [SESSION]: 436 } } });
  reply({ busy: [SESSION] });
  expect(sent).toHaveLength(3);
});

test("a server that has gone is not what ends a turn: how it ended decides", () => {
  const { conversation, hear, reply, sent } = converse();
  reply({ id: SESSION });
  hear({ id: sent[1]?.id, error: "socket hang up" });
  hear({ id: sent[2]?.id, error: "connect ECONNREFUSED" });
  expect(conversation.state()).toMatchObject({ isEnded: true, isOver: false });
});

// Law: keys travel aside.
test("a server is greeted with its key, over its stdin alone, and its answers to that are no turn's", () => {
  const invocation = { mode: "execute", configuration, workspace: "/w", permissions: {}, images: [] } as const;
  const [line = ""] = SERVER.greet("a1", invocation);
  expect(JSON.parse(line)).toMatchObject({
    id: "a1:0:greeting",
    start: { secrets: { TURND_PROVIDER_KEY: KEY }, user: "opencode" },
  });
  expect(SERVER.buildServerArgs(invocation).join(" ")).not.toContain(KEY);
  const answer = '{"at":5,"id":"a1:0:greeting","status":200,"body":{"version":"1.18.33","isAdopted":true}}';
  expect(SERVER.readGreeting(answer, "a1")).toEqual({ ok: true, isAdopted: true, version: "1.18.33" });
  expect(SERVER.readGreeting('{"at":5,"id":"a1:0:greeting","error":"no"}', "a1")).toEqual({ ok: false, reason: "no" });
  expect(SERVER.isAside(answer)).toBe(true);
  expect(SERVER.isPong('{"at":5,"id":"a1:1:ping","status":200,"body":{}}', "a1:1:ping")).toBe(true);
  expect(SERVER.isPong('{"at":5,"id":"a1:1:ping","error":"no answer in time"}', "a1:1:ping")).toBe(false);
});

test("a server that begins a turn by itself, between turns, is known by its status", () => {
  expect(SERVER.isUnasked(JSON.stringify({ at: 1, ...BUSY }))).toBe(true);
  expect(SERVER.isUnasked(JSON.stringify({ at: 1, ...event("session.status", { status: { type: "idle" } }) }))).toBe(
    false,
  );
  expect(SERVER.isUnasked(JSON.stringify({ at: 1, ...inputSeen("m") }))).toBe(false);
});
