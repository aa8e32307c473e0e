import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import type { TurnSnapshot } from "../../../../../src/turnd/protocol/index.ts";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { REPOSITORY } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const Document = z.object({
  paths: z.object({
    "/v1/turns": z.object({ get: z.object({ parameters: z.array(z.object({ name: z.string() })) }) }),
  }),
});
const PAGING = new Set(["limit", "cursor"]);

/**
 * A value of every filter that a running turn has. The index keeps no data of a turn that runs, so a filter that looked
 * at it would leave such turns out.
 */
const FILTERS: Readonly<Record<string, (turn: TurnSnapshot) => string>> = {
  session_id: ({ session_id: id }) => id,
  status: ({ status }) => status,
};

test("every filter of the list of turns finds a turn that runs", async () => {
  const { paths } = Document.parse(JSON.parse(readFileSync(join(REPOSITORY, "openapi.json"), "utf8")));
  const named = paths["/v1/turns"].get.parameters.flatMap(({ name }) => (PAGING.has(name) ? [] : [name]));
  expect(named.toSorted()).toEqual(Object.keys(FILTERS).toSorted());
  const turnd = await fakeDaemon();
  const { turn_id: turnId } = await turnd.admit({ executor: "cli-b", input: "hang" });
  const running = await waitFor("the turn", async () => {
    const { body } = await turnd.request("GET", `/v1/turns/${turnId}`);
    return body.status === "running" ? body : undefined;
  });
  for (const [name, valueOf] of Object.entries(FILTERS)) {
    const { body } = await turnd.request("GET", `/v1/turns?${name}=${valueOf(running)}`);
    expect([name, body.turns]).toEqual([name, [expect.objectContaining({ turn_id: turnId })]]);
  }
});
