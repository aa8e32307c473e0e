import { readFileSync } from "node:fs";

/** Of /proc/<pid>/stat; Linux has had 100 on every machine for decades. @see sysconf(3), _SC_CLK_TCK */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
