import { parseArgs } from "node:util";
import { READABLE_GAP_MS, startScriptedModel } from "./server.ts";

// --end-with-stdin: ends when its standard input does: a parent's pipe closes however the parent ends.
const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, "end-with-stdin": { type: "boolean", default: false } },
});
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`--port must be 0-65535, got "${values.port}"`);
  process.exit(2);
}
const model = await startScriptedModel({ port, frameGapMs: READABLE_GAP_MS });
console.log(model.url);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void model.close();
  });
}
if (values["end-with-stdin"]) process.stdin.resume().once("end", () => void model.close());
