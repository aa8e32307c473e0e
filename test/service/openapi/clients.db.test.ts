import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { makeClients, runClient } from "../../harness/generated-client.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { freshService } from "../harness/service.ts";

const DOCUMENT = join(REPOSITORY, "openapi.service.json");

/** What a user of a generated client writes: every path, body and answer is typed. */
const GENERATED = `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

const { SVC_URL: baseUrl = "", SVC_TOKEN: token = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${token}\` } });

const me = await client.GET("/api/auth/me");
if (me.data === undefined) throw new Error(JSON.stringify(me.error));
const username: string = me.data.user.username;
const thread = await client.POST("/api/chat/thread", { body: { agent_id: "cli-b" } });
const threadId: string = thread.data?.id ?? "";
const body: components["schemas"]["SubmitRunBody"] = {
  agent_slug: "cli-b", thread_id: threadId, query: "Done.", meta: { request_id: "generated-0001" },
};
const submitted = await client.POST("/api/agent/runs", { body });
const runId: string = submitted.data?.run_id ?? "";
let result: components["schemas"]["RunResult"] | undefined;
const until = Date.now() + 60_000;
while (result?.final !== true && Date.now() < until) {
  result = (await client.GET("/api/agent/runs/{run_id}/result", { params: { path: { run_id: runId } } })).data;
}
const missing = await client.GET("/api/agent/runs/{run_id}", { params: { path: { run_id: "not-there" } } });
const problem = missing.error as components["schemas"]["Problem"];
// @ts-expect-error a path that there is not
void client.GET("/api/nothing");
// @ts-expect-error a body without its thread
const wrong: typeof body = { agent_slug: "cli-b" };
console.log(JSON.stringify({ username, status: result?.status, code: problem.detail.code, wrong: wrong.agent_slug }));
`;

/** What a user of the official client writes. */
const OPENAI = `
import OpenAI from "openai";
import type { components } from "./schema.ts";

type Answer = components["schemas"]["AgentCall"];
type Choices = OpenAI.Chat.Completions.ChatCompletion["choices"];

/** Of a completed call, which alone has a finish_reason of OpenAI's. */
function completed(choices: Answer["choices"]): Choices {
  return choices.flatMap(({ finish_reason, ...choice }) => (finish_reason === "stop" ? [{ ...choice, finish_reason }] : []));
}

const { SVC_URL: baseURL = "", SVC_TOKEN: apiKey = "" } = process.env;
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const messages: OpenAI.Chat.Completions.ChatCompletionMessageParam[] = [{ role: "user", content: "Done." }];
const answer: Answer = await client.post("/api/agent-invocation/agent-call/runs", { body: { agent_slug: "cli-b", messages } });
const choices: Choices = completed(answer.choices);
const usage: OpenAI.CompletionUsage | null = answer.usage;
console.log(JSON.stringify({ choices, hasUsage: usage !== null, status: answer.status }));
`;

test("clients made of openapi.service.json, and OpenAI's own, compile and call a running service", async () => {
  const directory = temporaryDirectory(onTestFinished);
  await makeClients(directory, DOCUMENT, { "generated.ts": GENERATED, "openai.ts": OPENAI });

  const service = await freshService("postgres", { turndUrl: (await fakeDaemon()).url });
  const env = { SVC_URL: service.url, SVC_TOKEN: service.authorization().slice("Bearer ".length) };
  expect(JSON.parse(await runClient(directory, "generated.ts", env))).toEqual({
    username: "root",
    status: "completed",
    code: "run_not_found",
    wrong: "cli-b",
  });
  expect(JSON.parse(await runClient(directory, "openai.ts", env))).toMatchObject({
    status: "completed",
    choices: [{ index: 0, finish_reason: "stop", logprobs: null, message: { role: "assistant", refusal: null } }],
  });
});
