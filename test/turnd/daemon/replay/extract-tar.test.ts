import { readdirSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import tar from "tar-stream";
import { expect, onTestFinished, test } from "vitest";
import { extractTar } from "../../../../src/turnd/daemon/replay/extract-tar.ts";
import { MAX_ENTRIES } from "../../../../src/turnd/daemon/replay/unpacked-entry.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

/** An archive of the same directory, so many times. */
async function* archiveOf(count: number): AsyncGenerator<Buffer> {
  const pack = tar.pack();
  pack.entry({ name: "here/", type: "directory" });
  pack.finalize();
  const whole = await buffer(pack);
  const [entry, end] = [whole.subarray(0, 512), whole.subarray(512)];
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => entry));
  for (let made = 0; made < count; made += 1_000) yield many.subarray(0, 512 * Math.min(1_000, count - made));
  yield end;
}

test("an archive of more entries than a recording can have is refused, though they hold nothing", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const options = { name: "the archive", directory };
  await expect(extractTar(archiveOf(MAX_ENTRIES), options)).resolves.toBeUndefined();
  await expect(extractTar(archiveOf(MAX_ENTRIES + 1), options)).rejects.toThrow(
    `the archive: has more than ${MAX_ENTRIES} entries`,
  );
  expect(readdirSync(directory)).toEqual([]);
});
