// Runs a turn, and goes on with it where it was when it is started again:   node runtime.ts "say hello"
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createTurndClient, newRequestId } from "turnd-client";

const turnd = createTurndClient({
  baseUrl: process.env.TURND_URL ?? "http://127.0.0.1:8091",
  token: process.env.TURND_TOKEN,
});
const file = process.env.TURN_FILE ?? "turn.json";
const kept: { request_id: string; input: string; cursor?: string } = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8"))
  : { request_id: newRequestId(), input: process.argv[2] ?? "say hello" };
const keep = (cursor?: string) => {
  writeFileSync(`${file}.new`, JSON.stringify({ ...kept, cursor }));
  renameSync(`${file}.new`, file);
};

// Kept before it is sent: the same request_id is the same turn, however often it is sent.
keep(kept.cursor);
const { turn_id } = await turnd.submit({ executor: "cli-b", request_id: kept.request_id, input: kept.input });
const following = turnd.follow(turn_id, { after: kept.cursor });
for await (const event of following) {
  if (event.type === "message") console.log(event.data.text);
  if (event.type === "tool.started") console.log(`… ${event.data.name}`);
  keep(following.cursor);
}
const { status, failure } = await turnd.result(turn_id);
console.log(failure === undefined ? status : `${status}: ${failure.code}: ${failure.message}`);
rmSync(file);
