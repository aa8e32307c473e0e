import { EXIT } from "./exit-codes.ts";
import { useProxyOf } from "./proxy.ts";
import { run } from "./run.ts";

// The command-line client of the agent service: `svc`, docs/svc.md.
const stopping = new AbortController();
let signals = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    signals += 1;
    // A second signal ends the process at once.
    if (signals > 1) process.exit(EXIT.interrupted);
    stopping.abort();
  });
}
// `svc kb open --all | head`: no process reads on, and that is no fault.
process.stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed),
);

const { env, stdin, stdout, stderr } = process;
await useProxyOf(env);
process.exitCode = await run(process.argv.slice(2), { env, stdin, stdout, stderr, signal: stopping.signal });
