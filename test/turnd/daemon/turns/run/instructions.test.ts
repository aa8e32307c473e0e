import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type TomlValue } from "smol-toml";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

test("a turn's own instructions come after those of its session, for that turn only, and are part of its request", async () => {
  const turnd = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  const made = { executor: "cli-b", instructions: "Be brief." };
  const { session_id } = (await turnd.request("POST", "/v1/sessions", made)).body;
  const config = join(turnd.state, "sessions", session_id, "home/fake-cli-b/config.toml");
  /** The instructions that the CLI of a turn is given. */
  const given = async (fields: object): Promise<TomlValue | undefined> => {
    const { turn_id } = await turnd.admit({ session_id, input: "hang", ...fields });
    await waitFor("the turn", async () => (await turnd.events(turn_id)).some(({ type }) => type === "turn.started"));
    const text = await waitFor("its configuration", () => existsSync(config) && readFileSync(config, "utf8"));
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    return parse(text)["developer_instructions"];
  };
  expect(await given({ instructions: "Answer in German." })).toBe("Be brief.\n\nAnswer in German.");
  expect(await given({ instructions: "Answer in French." })).toBe("Be brief.\n\nAnswer in French.");
  expect(await given({})).toBe("Be brief.");

  const request = { session_id, input: "Done.", request_id: "request-0001", instructions: "Answer in German." };
  const first = await turnd.run(request);
  expect((await turnd.request("POST", "/v1/turns", request)).body.turn_id).toBe(first.turn_id);
  const other = await turnd.request("POST", "/v1/turns", { ...request, instructions: "Answer in French." });
  expect(other).toMatchObject({ status: 409, body: { detail: { code: "request_id_conflict" } } });
  for (const instructions of ["", " ", "a\u0000", "ä".repeat(32_769)]) {
    const refused = await turnd.request("POST", "/v1/turns", { session_id, input: "Done.", instructions });
    expect([refused.status, refused.body.detail.fields?.[0].path]).toEqual([422, "instructions"]);
  }
});
