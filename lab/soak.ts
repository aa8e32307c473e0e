import { parseArgs } from "node:util";
import { withDirectory } from "./bench/stage.ts";
import { soakService } from "./soak/service/soak-service.ts";
import type { SoakOptions } from "./soak/soak-options.ts";
import { soakLong } from "./soak/turnd/soak-long.ts";
import { soakTurnd } from "./soak/turnd/soak-turnd.ts";

/** What there is to soak; turnd where nothing is named. */
const SOAKS: Readonly<Record<string, (options: SoakOptions) => Promise<string[]>>> = {
  turnd: soakTurnd,
  long: soakLong,
  service: soakService,
};

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string" }, seed: { type: "string" }, turns: { type: "string" } },
  allowPositionals: true,
});
const [name = "turnd"] = positionals;
const soak = SOAKS[name];
if (soak === undefined) throw new Error(`no soak of "${name}"; there are ${Object.keys(SOAKS).join(" ")}`);
const stopping = new AbortController();
// The first one ends the run early, with its checks; what is left running is ended by the daemon's own stop.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort());
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
console.log(`seed ${seed}`);
const faults = await withDirectory(`${name}-soak`, (directory) =>
  soak({
    directory,
    seed,
    seconds: Number(values.seconds ?? 600),
    signal: stopping.signal,
    ...(values.turns === undefined ? {} : { turns: Number(values.turns) }),
  }),
);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length === 0 ? 0 : 1;
