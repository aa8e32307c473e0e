import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { assertKey, ObjectMissing, ObjectTooLarge, type Objects, type StoredObject } from "./objects.ts";

/** Objects as files: written under a temporary name, synced, then renamed, so that a name means the whole object. */
export function openObjectDirectory(directory: string): Objects {
  return {
    put: (source, limit) => put(directory, source, limit),
    async get(key) {
      assertKey(key);
      const path = join(directory, key);
      if (!(await isFile(path))) throw new ObjectMissing(key);
      return createReadStream(path);
    },
    async delete(key) {
      assertKey(key);
      await rm(join(directory, key), { force: true });
    },
    async *list() {
      for (const prefix of await entries(directory)) {
        if (!/^[0-9a-f]{2}$/.test(prefix)) continue;
        for (const name of await entries(join(directory, prefix))) {
          const found = await stat(join(directory, prefix, name)).catch(ifMissing);
          if (found?.isFile() === true) yield { key: `${prefix}/${name}`, modifiedAt: found.mtime };
        }
      }
    },
    deleteUnfinished: (before) => deleteUnfinished(directory, before),
  };
}

async function deleteUnfinished(directory: string, before: Date): Promise<void> {
  const incoming = join(directory, "incoming");
  for (const name of await entries(incoming)) {
    const found = await stat(join(incoming, name)).catch(ifMissing);
    if (found !== undefined && found.mtime <= before) await rm(join(incoming, name), { force: true });
  }
}

async function put(directory: string, source: Readable | Uint8Array, limit: number): Promise<StoredObject> {
  const id = randomUUID();
  const key = `${id.slice(0, 2)}/${id}`;
  const path = join(directory, key);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await mkdir(join(directory, "incoming"), { recursive: true, mode: 0o700 });
  const temporary = join(directory, "incoming", id);
  try {
    const written = await writeSynced(temporary, source, limit);
    await rename(temporary, path);
    await syncDirectory(dirname(path));
    return { key, ...written };
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Writes a file to the disk itself. @throws {ObjectTooLarge} */
export async function writeSynced(
  path: string,
  source: Readable | Uint8Array,
  limit: number,
): Promise<Pick<StoredObject, "bytes" | "sha256">> {
  const file = await open(path, "wx", 0o600);
  try {
    const hash = createHash("sha256");
    let bytes = 0;
    const chunks: AsyncIterable<unknown> = source instanceof Uint8Array ? Readable.from([source]) : source;
    for await (const chunk of chunks) {
      const data = chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
      bytes += data.length;
      if (bytes > limit) throw new ObjectTooLarge(limit);
      hash.update(data);
      await file.writeFile(data);
    }
    await file.sync();
    return { bytes, sha256: hash.digest("hex") };
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(ifMissing))?.isFile() === true;
}

async function entries(path: string): Promise<string[]> {
  return (await readdir(path).catch(ifMissing)) ?? [];
}

function ifMissing(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}
