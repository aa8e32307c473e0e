import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { Entry } from "../../src/scripted-model/conversation.ts";
import { INTRODUCTION } from "../../src/scripted-model/scenarios/assistant.ts";
import { startScriptedModel, type ScriptedModel, type ScriptedModelOptions } from "../../src/scripted-model/server.ts";
import { waitFor } from "../harness/wait-for.ts";
import { chat, DIALECTS, readFrames, responses, type Dialect, type Understood } from "./dialects.ts";

async function start(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const model = await startScriptedModel({ frameGapMs: 0, thinkMs: 0, ...options });
  onTestFinished(() => model.close());
  return model;
}

function post(
  model: ScriptedModel,
  dialect: Dialect,
  entries: readonly Entry[],
  init: RequestInit = {},
): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(model.url + dialect.path, {
    method: "POST",
    headers,
    body: JSON.stringify(dialect.body(entries)),
    ...init,
  });
}

async function ask(
  model: ScriptedModel,
  dialect: Dialect,
  entries: readonly Entry[],
  tools: readonly string[] = dialect.tools,
): Promise<Understood> {
  const response = await post(model, dialect, entries, { body: JSON.stringify(dialect.body(entries, tools)) });
  expect(response.status).toBe(200);
  return dialect.understand(readFrames(await response.text()));
}

const user = (text: string): Entry => ({ type: "user", text });

/** What a CLI sends after it has run the tools an answer asked for. */
function ran(answer: Understood, id: string, output: string): Entry[] {
  const [call] = answer.calls;
  if (call === undefined) throw new Error("the answer calls no tool");
  return [
    { type: "tool_call", call: { id, name: call.name, input: z.record(z.string(), z.unknown()).parse(call.input) } },
    { type: "tool_result", callId: id, text: output },
  ];
}

describe.each(DIALECTS)("$name", (dialect) => {
  test("a text arrives whole, in pieces, and is finished", async () => {
    const answer = await ask(await start(), dialect, [user('@@echo@@ Grüße 😀 "twice"\n'.repeat(40))]);
    expect(answer.text).toBe('@@echo@@ Grüße 😀 "twice"\n'.repeat(40));
    expect(answer.isFinished).toBe(true);
  });

  test("reasoning comes before the text", async () => {
    const answer = await ask(await start(), dialect, [user("@@reasoning@@")]);
    expect(answer.reasoning).toContain("think first");
    expect(answer.text).toBe("I thought about it.");
  });

  test("a program is written, run, quoted, and referred to later", async () => {
    const model = await start();
    const history = [user("Create a small program and run it.")];
    const write = await ask(model, dialect, history);
    expect(JSON.stringify(write.calls)).toContain("sum.sh");
    history.push(...ran(write, "c1", "ok"));
    const run = await ask(model, dialect, history);
    expect(JSON.stringify(run.calls)).toContain("sh sum.sh");
    history.push(...ran(run, "c2", "the sum is whatever the tool says\n"));
    const first = await ask(model, dialect, history);
    const answer = "I created `sum.sh` and ran it. It printed: the sum is whatever the tool says";
    expect(first.text).toBe(`${INTRODUCTION}\n\n${answer}`);
    const later = [...history, { type: "assistant", text: first.text } as const, user("What did it print?")];
    const remembered = await ask(model, dialect, later);
    expect(remembered.text).toMatch(/^Earlier .*`sum\.sh`.*: the sum is whatever the tool says$/);
  });

  test("a question about earlier without a history is answered honestly", async () => {
    const answer = await ask(await start(), dialect, [user("Which file did you create before?")]);
    expect(answer.text.split("\n\n")).toEqual([INTRODUCTION, expect.stringMatching(/^No earlier part/)]);
  });

  test("a history handed on as text in the message is history too", async () => {
    const transcript = "So far:\nassistant: I created `sum.sh` and ran it. It printed: 55\n\nWhat did it print?";
    const answer = await ask(await start(), dialect, [user(transcript)]);
    expect(answer.text).toMatch(/it printed: 55$/);
  });

  test("small talk and what it cannot know are answered with words, and it says what it is once", async () => {
    const model = await start();
    const hello = await ask(model, dialect, [user("Say hello.")]);
    expect(hello).toMatchObject({ calls: [], text: expect.stringMatching(/no language model\.\n\nHello! I can /) });
    const said = [user("Say hello."), { type: "assistant", text: hello.text } as const];
    const next = await ask(model, dialect, [...said, user("What is the capital of France?")]);
    expect(next).toMatchObject({ calls: [], text: expect.stringMatching(/^I cannot answer that\. I can /) });
  });

  test("files are listed when a person asks for them", async () => {
    const model = await start();
    const list = await ask(model, dialect, [user("List the files.")]);
    const history = [user("List the files."), ...ran(list, "c1", "notes.txt\n")];
    expect((await ask(model, dialect, history)).text).toMatch(/These files are here:\n\nnotes\.txt$/);
  });

  test("where a search is offered, a question is searched for, and what was found is quoted", async () => {
    const model = await start();
    const name = dialect.path === "/responses" ? "mcp__knowledge.search" : "knowledge_search";
    const question = user("What holds a boat?");
    const offer = (entries: readonly Entry[]) => ask(model, dialect, entries, [...dialect.tools, "web_search", name]);
    const search = await offer([question]);
    expect(search.calls).toEqual([{ name: name.split(".").at(-1), input: { query: "What holds a boat?" } }]);
    const call = { id: "c1", name, input: {} };
    const found: Entry = { type: "tool_result", callId: "c1", text: "boats.md: An anchor holds a boat." };
    const answer = await offer([question, { type: "tool_call", call }, found]);
    expect(answer.text).toMatch(/I searched for "What holds a boat\?".*:\n\nboats\.md: An anchor holds a boat\.$/);
    expect((await offer([user("Hello!")])).calls).toEqual([]);
  });

  test("a refusal has the status and the body of the API", async () => {
    const response = await post(await start(), dialect, [user("@@status:401@@")]);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("Incorrect API key") } });
  });

  test("a wrong key is refused, the right one is not", async () => {
    const model = await start({ apiKey: "right" });
    const header = dialect.path === "/messages" ? "x-api-key" : "authorization";
    const entries = [user("@@text@@")];
    expect((await post(model, dialect, entries, { headers: { [header]: "Bearer wrong" } })).status).toBe(401);
    const key = header === "authorization" ? "Bearer right" : "right";
    expect((await post(model, dialect, entries, { headers: { [header]: key } })).status).toBe(200);
  });

  test("a stream that is cut breaks the connection after the text so far", async () => {
    const response = await post(await start(), dialect, [user("@@cut@@")]);
    await expect(response.text()).rejects.toThrow("terminated");
  });

  test("a stream without a finish ends cleanly", async () => {
    const answer = await ask(await start(), dialect, [user("@@no-finish@@")]);
    expect(answer).toMatchObject({ text: "An answer without an end.", isFinished: false });
  });

  test("a recovering provider counts the attempts of one request", async () => {
    const model = await start();
    const entries = [user("@@status-then-ok:503:2@@")];
    const statuses = [];
    for (let attempt = 1; attempt <= 3; attempt++) statuses.push((await post(model, dialect, entries)).status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  test("a body that is no request is refused with 400", async () => {
    const response = await post(await start(), dialect, [], { body: "{}" });
    expect(response.status).toBe(400);
  });
});

test("the newest marker decides", async () => {
  const answer = await ask(await start(), chat, [
    user("@@status:500@@"),
    { type: "assistant", text: "no" },
    user("@@text:new@@"),
  ]);
  expect(answer.text).toBe("new");
});

test("an unknown scenario is reported", async () => {
  expect((await ask(await start(), chat, [user("@@nonesuch@@")])).text).toContain('no scenario "nonesuch"');
});

test("a scenario of one's own wins", async () => {
  const model = await start({
    scenarios: { text: () => ({ type: "answer", parts: [{ type: "text", text: "mine" }], ending: "stop" }) },
  });
  expect((await ask(model, chat, [user("@@text@@")])).text).toBe("mine");
});

test("a request for a title gets a title, whatever the scenario", async () => {
  const model = await start();
  const body = {
    model: "m",
    messages: [
      { role: "system", content: "You are a title generator." },
      { role: "user", content: "@@many:3@@" },
    ],
  };
  const response = await post(model, chat, [], { body: JSON.stringify(body) });
  expect(chat.understand(readFrames(await response.text()))).toMatchObject({
    text: "A scripted conversation",
    calls: [],
  });
});

test("a command that CLI B left running is polled until it has ended", async () => {
  const model = await start();
  const history = [user("@@sleep:30@@")];
  history.push(
    ...ran(await ask(model, responses, history), "c1", "Chunk ID: a\nProcess running with session ID 7\nOutput:\n"),
  );
  const poll = await ask(model, responses, history);
  expect(poll.calls).toMatchObject([{ name: "write_stdin", input: { session_id: 7 } }]);
  history.push(...ran(poll, "c2", "Chunk ID: b\nProcess exited with code 0\nOutput:\ndone\n"));
  expect((await ask(model, responses, history)).text).toBe("The command gave: done");
});

test("a model without a tool for the task answers so", async () => {
  const model = await start();
  const body = JSON.stringify(chat.body([user("@@tool-ok@@")], ["read"]));
  const response = await post(model, chat, [], { body });
  expect(chat.understand(readFrames(await response.text())).text).toContain("Offered: read");
});

test("a request that hangs ends when the model closes", async () => {
  const model = await start();
  const pending = post(model, chat, [user("@@hang@@")]).then(
    () => "answered",
    () => "broken",
  );
  await waitFor("the request", () => model.requests.length === 1);
  await model.close();
  expect(await pending).toBe("broken");
});

test("two megabytes arrive whole", async () => {
  const { text } = await ask(await start(), responses, [user("@@big:2000000@@")]);
  expect(text).toHaveLength(2_000_000);
});

test("requests are recorded as they were understood", async () => {
  const model = await start();
  await ask(model, chat, [user("@@text@@ hello")]);
  expect(model.requests).toMatchObject([
    { path: "/v1/chat/completions", scenario: "text", conversation: { tools: chat.tools } },
  ]);
});
