// Loaded into a process before its program: reports, when it ends, the most memory it ever held. Plain JavaScript, because
// what strips types would count.
import { readFileSync } from "node:fs";

process.on("exit", () => {
  const [line] = /^VmHWM:.*$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  process.stderr.write(`${line}\n`);
});
