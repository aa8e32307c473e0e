import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type TomlValue } from "smol-toml";
import { expect, test } from "vitest";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshService } from "../harness/service.ts";

test("an agent's instructions are in every turn of its threads; changed ones from the next run on", async () => {
  const turnd = await fakeDaemon();
  const service = await freshService("postgres", { turndUrl: turnd.url });
  const agent = { slug: "brief", name: "Brief", executor: "cli-b", instructions: "Be brief." };
  expect((await service.call("POST", "/api/agents", agent)).body.agent).toMatchObject({ instructions: "Be brief." });
  const thread = await service.thread("brief");
  /** The instructions that the CLI of a run is given. */
  const given = async (): Promise<TomlValue | undefined> => {
    const { run_id: runId } = await service.submit(thread, "before\nhang", { agent_slug: "brief" });
    const path = `/api/agent/runs/${runId}/events?format=json`;
    await waitFor("the turn", async () => (await service.call("GET", path)).body.last_seq > 3);
    const turns = (await turnd.request("GET", "/v1/turns?limit=1")).body.turns;
    const config = join(turnd.state, "sessions", turns[0].session_id, "home/fake-cli-b/config.toml");
    const text = await waitFor("its configuration", () => existsSync(config) && readFileSync(config, "utf8"));
    await service.call("POST", `/api/agent/runs/${runId}/cancel`);
    await service.result(runId);
    return parse(text)["developer_instructions"];
  };
  expect(await given()).toBe("Be brief.");
  const change = { revision: 1, instructions: "Be thorough.\nName your sources." };
  expect((await service.call("PUT", "/api/agents/brief", change)).status).toBe(200);
  expect(await given()).toBe("Be thorough.\nName your sources.");
  expect((await service.call("PUT", "/api/agents/brief", { revision: 2, instructions: "" })).status).toBe(200);
  expect(await given()).toBeUndefined();

  const longest = { revision: 3, instructions: "ä".repeat(32_768) };
  expect((await service.call("PUT", "/api/agents/brief", longest)).status).toBe(200);
  for (const instructions of ["a\u0000", "ä".repeat(32_769)]) {
    const refused = await service.call("PUT", "/api/agents/brief", { revision: 4, instructions });
    expect([refused.status, refused.body.detail[0]?.loc]).toEqual([422, ["body", "instructions"]]);
  }
});
