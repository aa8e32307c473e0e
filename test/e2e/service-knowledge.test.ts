import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LIGHT_CLI_A, shareStage } from "../harness/real-daemon.ts";
import { startServiceProcess } from "../harness/service-process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Its turnd has both CLIs. */
const stage = shareStage(LIGHT_CLI_A);
const TEXT = "# Boats\n\nAn anchor holds a boat.\n\nA sail moves it.\n";

test("an agent's turns search and open its knowledge base by tools, with both CLIs", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "svc");
  const service = await startServiceProcess(directory, {
    SERVICE_SANDBOX: "static",
    SERVICE_TURND_URLS: stage().turnd.url,
  });
  onTestFinished(() => service.kill("SIGTERM"));
  const { call } = service;
  const made = await call("POST", "/api/knowledge/databases", { name: "Boats" });
  const kbId: string = made.body.database.kb_id;
  const items = [await service.upload(kbId, "boats.md", TEXT)];
  const started = await call("POST", `/api/knowledge/databases/${kbId}/documents`, {
    items,
    params: { auto_index: true },
  });
  await waitFor("the index", async () => {
    const { body } = await call("GET", `/api/tasks/${started.body.task_id}`);
    return body.task.status === "success";
  });
  const [fileId] = started.body.file_ids;

  for (const executor of ["cli-a", "cli-b"]) {
    const slug = `${executor}-boats`;
    const agent = { slug, name: "Boats", executor, knowledge_bases: [kbId] };
    expect((await call("POST", "/api/agents", agent)).status).toBe(200);
    const { body: thread } = await call("POST", "/api/chat/thread", { agent_id: slug });
    const run = async (query: string) => {
      const { body } = await call("POST", "/api/agent/runs", { agent_slug: slug, thread_id: thread.id, query });
      return { runId: String(body.run_id), result: await service.result(body.run_id) };
    };
    const search = await run('@@mcp:knowledge search {"query":"what holds a boat"}@@');
    expect(search.result).toMatchObject({
      status: "completed",
      output: expect.stringContaining("An anchor holds a boat."),
    });
    expect(search.result.output).toContain(fileId);
    // Without a marker, as a person asks: on a thread of its own, since the newest marker of a thread goes on.
    const { body: asked } = await call("POST", "/api/chat/thread", { agent_id: slug });
    const question = { agent_slug: slug, thread_id: asked.id, query: "What holds a boat?" };
    const { body: answered } = await call("POST", "/api/agent/runs", question);
    expect((await service.result(answered.run_id)).output).toMatch(/I searched for[^]*An anchor holds a boat\./);
    const open = await run(`@@mcp:knowledge open {"file_id":"${fileId}","start_line":5}@@`);
    expect(open.result.output).toContain("A sail moves it.");
    const { text } = await call("GET", `/api/agent/runs/${search.runId}/events?format=json`);
    expect(text).toContain('"kind":"mcp"');
    expect(text).not.toContain("svrun_");
    const { body: plain } = await call("POST", "/api/chat/thread", { agent_id: executor });
    const { body: other } = await call("POST", "/api/agent/runs", {
      agent_slug: executor,
      thread_id: plain.id,
      query: "@@mcp:knowledge list {}@@",
    });
    expect((await service.result(other.run_id)).output).toContain("no tool on offer can do that");
  }
  expect(stage().turnd.log.join("\n")).not.toContain("svrun_");
});
