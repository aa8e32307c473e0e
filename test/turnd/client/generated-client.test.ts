import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { OPENAPI_PATH } from "../../../scripts/generate/openapi.ts";
import { Document } from "../../../src/kit/http/openapi/document.ts";
import { Problem, ShellSession, TurnAdmission } from "../../../src/turnd/protocol/index.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { makeClients, runClient } from "../../harness/generated-client.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";

/** What a user of a generated client writes. */
const PROGRAM = `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

type Event = components["schemas"]["LoggedEvent"];
const { TURND_URL: baseUrl = "", TURND_TOKEN: token = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });

function textOf(event: Event): string | undefined {
  switch (event.type) {
    case "message":
      return event.data.text;
    case "tool.started":
      return event.data.title ?? event.data.name;
    case "turn.ended":
      return event.data.status;
    default:
      return undefined;
  }
}

/** The events of a stream of server-sent events, whose frames may be cut anywhere. */
async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split("\\n\\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = frame.split("\\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) yield JSON.parse(data.slice("data: ".length));
    }
  }
}

// The smallest request.
const submitted = await client.POST("/v1/turns", { body: { input: "tool ls\\nDone.", executor: "cli-b" } });
if (submitted.data === undefined) throw new Error(submitted.error.detail.message);
const path = { turn_id: submitted.data.turn_id };

const live = await client.GET("/v1/turns/{turn_id}/events", {
  params: { path, query: { after_seq: 0, verbose: true } },
  headers: { accept: "text/event-stream" },
  parseAs: "stream",
});
if (!live.data) throw new Error("there is no stream");
const events: Event[] = [];
for await (const event of readEvents(live.data)) events.push(event);
const texts = events.map(textOf).filter((text) => text !== undefined);

const logged = await client.GET("/v1/turns/{turn_id}/events", {
  params: { path, query: { after_seq: 1, follow: true } },
  parseAs: "text",
});
const lines: Event[] = (logged.data ?? "").trim().split("\\n").map((line) => JSON.parse(line));
const result = await client.GET("/v1/turns/{turn_id}/result", { params: { path, query: { explain: true } } });
const atEnd = await client.GET("/v1/turns/{turn_id}/events", { params: { path, query: { after_seq: events.length } } });
const receipt = await client.POST("/v1/turns/{turn_id}/cancel", { params: { path } });
const missing = await client.GET("/v1/turns/{turn_id}", { params: { path: { turn_id: "not-there" } } });

const session_id = submitted.data.session_id;
const file = { session_id, path: "made/here/run.sh" };
const pathSerializer = (route: string, values: Record<string, unknown>): string =>
  route.replaceAll(/\\{(\\w+)\\}/g, (_, name) => encodeURIComponent(String(values[name])).replaceAll("%2F", "/"));
const written = await client.PUT("/v1/sessions/{session_id}/files/{path}", {
  params: { path: file, query: { executable: true } },
  pathSerializer,
  body: "echo ok",
  bodySerializer: (body) => body,
  headers: { "content-type": "application/octet-stream" },
});
const read = await client.GET("/v1/sessions/{session_id}/files/{path}", {
  params: { path: file },
  pathSerializer,
  parseAs: "text",
});
const removed = await client.DELETE("/v1/sessions/{session_id}/files/{path}", {
  params: { path: { session_id, path: "made" }, query: { recursive: true } },
});
const deleted = await client.DELETE("/v1/sessions/{session_id}", { params: { path: { session_id } } });

// @ts-expect-error a field that there is not
const unknown = await client.POST("/v1/turns", { body: { input: "Done.", executor: "cli-b", prompt: "Done." } });
// @ts-expect-error a number is no text
const wrong = await client.GET("/v1/turns", { params: { query: { limit: "many" } } });
// @ts-expect-error a path that there is not
const nowhere: { response: Response } = await client.GET("/v1/nothing");

console.log(
  JSON.stringify({
    texts,
    seqs: events.map(({ seq }) => seq),
    hasSameLines: JSON.stringify(lines) === JSON.stringify(events.slice(1)),
    output: result.data?.output,
    hasRules: (result.data?.decision.tried ?? []).length > 1,
    hasEndedBefore: receipt.data?.already_ended,
    mode: written.data?.mode,
    content: read.data,
    statuses: [atEnd, removed, deleted, unknown, wrong, nowhere].map(({ response }) => response.status),
    codes: [missing, unknown, wrong].map(({ error }) => error?.detail.code),
  }),
);
`;

/** What docs/calling-turnd.md shows: the one program of it that uses a generated client. */
function documentedProgram(): string {
  const text = readFileSync(join(REPOSITORY, "docs/calling-turnd.md"), "utf8");
  const programs = [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, program = ""]) => program);
  const [program = "", ...others] = programs.filter((each) => each.includes("openapi-fetch"));
  expect([program, others]).toEqual([expect.stringContaining("createClient"), []]);
  return program;
}

test("a client made of /openapi.json compiles without a flag, runs the smallest turn and reads its events", async () => {
  const token = "FAKE-TOKEN-OF-A-GENERATED-CLIENT";
  const directory = temporaryDirectory(onTestFinished);
  const { url } = await fakeDaemon({ TURND_TOKEN: token });
  await makeClients(directory, `${url}/openapi.json`, {
    "client.ts": PROGRAM,
    "documented.ts": documentedProgram(),
  });
  const env = { TURND_URL: url, TURND_TOKEN: token };
  const seen: unknown = JSON.parse(await runClient(directory, "client.ts", env));
  expect(seen).toMatchObject({
    texts: expect.arrayContaining(["Done.", "completed"]),
    hasSameLines: true,
    output: "Done.",
    hasRules: true,
    hasEndedBefore: true,
    mode: "755",
    content: "echo ok",
    statuses: [204, 204, 204, 422, 422, 404],
    codes: ["turn_not_found", "invalid_request", "invalid_request"],
  });
  expect(await runClient(directory, "documented.ts", env)).toBe("say hello\ncompleted");
});

test("a real daemon takes every example of a request as it stands, and none with an unknown field", async () => {
  const { url } = await fakeDaemon();
  const { paths } = Document.parse(JSON.parse(readFileSync(OPENAPI_PATH, "utf8")));
  const bodies = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { requestBody }]) =>
      Object.entries(requestBody?.content ?? {}).map(([type, media]) => ({ method, path, type, ...media })),
    ),
  );
  expect(bodies.length).toBeGreaterThan(7);
  const send = async ({ method, path, type }: (typeof bodies)[number], body: unknown): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: method.toUpperCase(),
      headers: { "content-type": type },
      body: type === "application/json" ? JSON.stringify(body) : String(body),
    });

  const ids = { session: "session-0001", shell: "", turn: "" };
  // What makes a session or a shell comes before what is below one.
  for (const body of bodies.toSorted((left, right) => left.path.length - right.path.length)) {
    const below = body.path.startsWith("/v1/shell/") ? ids.shell : ids.session;
    const path = body.path
      .replace("{session_id}", below)
      .replace("{path}", "notes.txt")
      .replace("{turn_id}", ids.turn)
      .replace(/\{(?:approval|question)_id\}/, "0");
    const here = { ...body, path };
    if (body.type === "application/json") {
      const refused = await send(here, { ...Object(body.example), no_such_field: 1 });
      expect([path, refused.status]).toEqual([path, 422]);
      expect(Problem.parse(await refused.json()).detail.fields).toEqual([
        { path: "no_such_field", message: "unknown field" },
      ]);
    }
    const answer = await send(here, body.example);
    if (/\/(?:approvals|questions)\//.test(path)) {
      // It is understood, and nobody was asked that.
      expect(["approval_not_found", "turn_ended"]).toContain(Problem.parse(await answer.json()).detail.code);
      continue;
    }
    expect([path, answer.status, answer.ok ? "" : await answer.text()]).toEqual([path, expect.any(Number), ""]);
    if (body.path === "/v1/turns") ids.turn = TurnAdmission.parse(await answer.json()).turn_id;
    if (body.path === "/v1/shell/sessions") ids.shell = ShellSession.parse(await answer.json()).session_id;
  }
});
