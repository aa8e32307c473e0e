import { mkdtemp, rm, chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withProbeStage } from "../../src/turnd/commands/probe.ts";
import { lookAtCli } from "../../src/turnd/daemon/probe/probe.ts";
import type { Baseline } from "../../src/turnd/daemon/probe/observation.ts";
import { observeScenarios } from "../../src/turnd/daemon/probe/probe.ts";
import { EXECUTORS } from "../../src/turnd/daemon/executors/registry.ts";
import { fillEnvironment } from "../fill-environment.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Writes what `turnd probe` compares with: what the pinned CLIs do in every scenario, or the one named on the command line.
 * To be run when a pin or a scenario changes; read the difference line by line before you commit it.
 */
async function main(named: readonly string[]): Promise<void> {
  const base = await mkdtemp("/tmp/turnd-baseline-");
  try {
    await chmod(base, 0o711);
    const { env } = await fillEnvironment(
      { PATH: process.env["PATH"] },
      { state: join(base, "state"), users: base, isTemporary: true },
    );
    const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    const signal = new AbortController().signal;
    const options = {
      env: { ...process.env, ...env },
      self,
      executors: EXECUTORS,
      sandboxDirectory: join(ROOT, "sandbox"),
      err: process.stderr,
      signal,
    };
    await withProbeStage(options, async (stage) => {
      for (const executor of EXECUTORS.filter(({ id, probe }) => probe && (named.length === 0 || named.includes(id)))) {
        const { id } = executor;
        const { version } = await lookAtCli(stage, id);
        if (version === undefined) throw new Error(`${id} is not installed: run \`node scripts/setup.mjs\``);
        const baseline: Baseline = { version, scenarios: await observeScenarios(stage, executor) };
        await writeFile(
          join(ROOT, `src/turnd/daemon/executors/${id}/probe-baseline.json`),
          `${JSON.stringify(baseline, null, 2)}\n`,
        );
      }
    });
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

await main(process.argv.slice(2));
