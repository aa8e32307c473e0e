import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { packClient } from "./packages/client.ts";
import { packTurnd } from "./packages/turnd.ts";

const PACKAGES = { turnd: packTurnd, "turnd-client": packClient };

/** Makes npm packages of turnd and of its client, and prints where they are. */
async function pack(target: string, names: readonly (keyof typeof PACKAGES)[]): Promise<void> {
  await mkdir(target, { recursive: true });
  for (const name of names) {
    const stage = await mkdtemp(join(tmpdir(), "turnd-pack-"));
    try {
      console.log(await PACKAGES[name](stage, target));
    } finally {
      await rm(stage, { recursive: true, force: true });
    }
  }
}

function isName(name: string): name is keyof typeof PACKAGES {
  return name in PACKAGES;
}

const [target, ...names] = process.argv.slice(2);
if (target === undefined || !names.every(isName)) {
  console.error(`usage: node scripts/pack.ts <directory> [${Object.keys(PACKAGES).join("] [")}]`);
  process.exit(2);
}
await pack(resolve(target), names.length === 0 ? ["turnd", "turnd-client"] : names.filter(isName));
