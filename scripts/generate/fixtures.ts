import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { replayLines } from "../../test/turnd/daemon/replay/replay-lines.ts";

/**
 * Writes `events.jsonl` beside every fixture, or those named on the command line. A change in them is the API changing:
 * read the difference line by line before you commit it.
 */
async function main(named: readonly string[]): Promise<void> {
  const directories = named.length > 0 ? named : await listFixtures(join(import.meta.dirname, "../../fixtures"));
  for (const directory of directories) {
    const { text } = await replayLines(directory);
    await writeFile(join(directory, "events.jsonl"), text);
  }
  process.stdout.write(`${directories.length} fixtures written; read the difference before you commit it\n`);
}

async function listFixtures(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true });
  return entries.filter((path) => path.endsWith("turn.json")).map((path) => join(root, path, ".."));
}

await main(process.argv.slice(2));
