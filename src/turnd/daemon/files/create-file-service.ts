import type { Logger } from "pino";
import { ProblemError, type FileEntry } from "../../protocol/index.ts";
import { WorkerError, type FileWorker } from "../process/user-files/file-worker.ts";
import { readEntry, readListed } from "./entry-line.ts";
import { encodePath, pathBelow, type WorkspacePath } from "./file-path.ts";
import type { FileService, FoundFile, Workspace } from "./file-service.ts";
import { asRefusal } from "./refusals.ts";
import { createWorkers, expectLine, type StartWorker, type WorkerOptions } from "./workers.ts";
import { createWriter } from "./write-file.ts";
import { zipTree } from "./zip.ts";

export interface FileServiceOptions extends WorkerOptions {
  /** Most bytes of a file that is written. */
  readonly maxFileBytes: number;
  readonly maxArchiveEntries: number;
  readonly logger: Logger;
}

export function createFileService(options: FileServiceOptions): FileService {
  const { start, isInUse, end } = createWorkers(options);

  async function find(where: Workspace, path: WorkspacePath): Promise<FoundFile> {
    const worker = await start(where, path, "look");
    try {
      return found(worker, path, readEntry(await expectLine(worker), path.bytes), options);
    } catch (error) {
      await worker.end();
      throw asRefusal(error);
    }
  }

  return {
    find,
    write: createWriter({ ...options, start }),
    async make(where, path) {
      const isNew = (await once(start, where, path, "make")) === "created";
      const { entry, close } = await find(where, path);
      await close();
      return { isNew, entry };
    },
    async remove(where, path, { isRecursive, version }) {
      await once(start, where, path, "remove", [
        ...(isRecursive ? ["recursive=1"] : []),
        ...(version === undefined ? [] : [`version=${version}`]),
      ]);
    },
    isInUse,
    async endSession(sessionId) {
      await end(sessionId, new ProblemError("session_not_found", `session ${sessionId} was deleted meanwhile`));
    },
  };
}

/** A task that is answered in one line, once it is done. */
async function once(start: StartWorker, ...task: Parameters<StartWorker>): Promise<string> {
  const worker = await start(...task);
  try {
    for (;;) {
      const line = await expectLine(worker);
      // It came in time, which is all that it says.
      if (line !== "progress") return line;
    }
  } catch (error) {
    throw asRefusal(error);
  } finally {
    await worker.end();
  }
}

function found(
  worker: FileWorker,
  path: WorkspacePath,
  entry: FileEntry,
  { maxArchiveEntries, stallMs }: FileServiceOptions,
): FoundFile {
  const command = (text: string): Promise<void> => worker.write(Buffer.from(`${text}\n`));
  let closing: Promise<unknown> | undefined;
  return {
    entry,
    stallMs,
    stalled: worker.stalled,
    async *read(offset, length) {
      await command(`read ${offset} ${length}`);
      for (let left = length; left > 0;) {
        const some = await worker.readSome(left);
        left -= some.length;
        yield some;
      }
    },
    async list({ limit, after = "" }) {
      await command(`list ${limit} ${after}`);
      const entries: FileEntry[] = [];
      let last: Buffer = Buffer.alloc(0);
      for (;;) {
        const line = await expectLine(worker).catch((error: unknown) => {
          throw asRefusal(error);
        });
        const more = line === "more" ? { next_after: last.toString("hex") } : {};
        if (line === "more" || line === "end") return { path: encodePath(path.bytes), entries, ...more };
        const listed = readListed(line, (name) => pathBelow(path.bytes, name));
        if (entries.length === limit) throw new WorkerError("it listed more than it was asked for");
        entries.push(listed.entry);
        last = listed.name;
      }
    },
    async zip() {
      await command(`walk ${maxArchiveEntries}`);
      await expectLine(worker).catch((error: unknown) => {
        throw asRefusal(error);
      });
      return zipTree(worker);
    },
    async close() {
      closing ??= worker.end();
      await closing;
    },
  };
}
