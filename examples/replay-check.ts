// Plays recordings on a turnd and compares how they end with what is kept beside each; for CI:   node replay-check.ts *.recording.json
// A recording without an expectation gets one: look at it, and commit it.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { createTurndClient, RecordingDocument } from "turnd-client";

const turnd = createTurndClient({
  baseUrl: process.env.TURND_URL ?? "http://127.0.0.1:8091",
  token: process.env.TURND_TOKEN,
});
let faults = 0;
for (const file of process.argv.slice(2)) {
  const recording = RecordingDocument.parse(JSON.parse(readFileSync(file, "utf8")));
  const { turn_id, session_id } = await turnd.replay({ recording });
  const types: string[] = [];
  for await (const event of turnd.follow(turn_id)) types.push(event.type);
  const { status, output, failure, decision } = await turnd.result(turn_id);
  const found = { status, code: failure?.code ?? null, rule: decision.rule, output, types };
  await turnd.deleteSession(session_id);

  const expectation = file.replace(/(\.recording)?\.json$/, ".expected.json");
  if (!existsSync(expectation)) {
    writeFileSync(expectation, `${JSON.stringify(found, null, 2)}\n`);
    console.log(`new   ${expectation}`);
  } else if (isDeepStrictEqual(JSON.parse(readFileSync(expectation, "utf8")), found)) {
    console.log(`ok    ${file}`);
  } else {
    faults += 1;
    console.log(`FAIL  ${file}: ${JSON.stringify(found)}`);
  }
}
process.exitCode = faults === 0 ? 0 : 1;
