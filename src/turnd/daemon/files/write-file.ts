import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import { ProblemError } from "../../protocol/index.ts";
import { WorkerError, type FileWorker } from "../process/user-files/file-worker.ts";
import { readEntry } from "./entry-line.ts";
import type { FileService } from "./file-service.ts";
import { asRefusal } from "./refusals.ts";
import { expectLine, type StartWorker } from "./workers.ts";

export interface WriterParts {
  readonly start: StartWorker;
  /** Most bytes of a file. */
  readonly maxFileBytes: number;
  readonly logger: Logger;
}

const LENGTH_BYTES = 4;

/** Makes what writes files. Two writes of one session are put in place one after the other, so that one of two with the same `If-Match` wins. */
export function createWriter({ start, maxFileBytes, logger }: WriterParts): FileService["write"] {
  const lastOf = new Map<string, Promise<unknown>>();

  /** Does some work when the work that was asked for before, for the same session, is done. */
  async function inTurn<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    const mine = (lastOf.get(sessionId) ?? Promise.resolve()).then(work, work);
    lastOf.set(sessionId, mine);
    try {
      return await mine;
    } finally {
      if (lastOf.get(sessionId) === mine) lastOf.delete(sessionId);
    }
  }

  return async ({ sessionId, workspace }, path, body, { isAbsent, version, isExecutable }) => {
    // Without what tells that the client has left: its body does, and what was written is taken back then.
    const where = { sessionId, workspace };
    const name = `new=.turnd-upload-${randomUUID()}`;
    const worker = await start(where, path, "write", [
      name,
      ...(isExecutable ? ["executable=1"] : []),
      ...(isAbsent === true ? ["absent=1"] : []),
      ...(version === undefined ? [] : [`version=${version}`]),
    ]);
    // A client that sends nothing for so long is not waited for.
    const onStall = (): void => void body.destroy();
    worker.stalled.addEventListener("abort", onStall);
    try {
      await expectLine(worker);
      await copy(body, worker, maxFileBytes);
      await expectLine(worker);
      const line = await inTurn(where.sessionId, async () => {
        await worker.write(Buffer.from("commit\n"));
        return expectLine(worker);
      });
      const [, outcome, entry] = /^(created|replaced) (.*)$/.exec(line) ?? [];
      return { isNew: outcome === "created", entry: readEntry(entry, path.bytes) };
    } catch (error) {
      if (!(await worker.end())) await discard();
      throw asRefusal(error);
    } finally {
      worker.stalled.removeEventListener("abort", onStall);
      await worker.end();
    }

    /** It was killed, so it has not removed what it was writing. */
    async function discard(): Promise<void> {
      try {
        const cleaner = await start(where, path, "discard", [name]);
        try {
          await expectLine(cleaner);
        } finally {
          await cleaner.end();
        }
      } catch (error) {
        logger.warn({ sessionId: where.sessionId, err: error }, "unfinished upload may be left in the workspace");
      }
    }
  };
}

async function copy(body: Readable, worker: FileWorker, maxBytes: number): Promise<void> {
  let total = 0;
  const chunks: AsyncIterable<Buffer> = body.iterator({ destroyOnReturn: false });
  for await (const chunk of chunks) {
    total += chunk.length;
    if (total > maxBytes) throw tooLarge(maxBytes);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(chunk.length);
    await writeOrAnswer(worker, Buffer.concat([length, chunk]));
  }
  await writeOrAnswer(worker, Buffer.alloc(LENGTH_BYTES));
}

/** Where it reads nothing any more, its answer says why. */
async function writeOrAnswer(worker: FileWorker, bytes: Buffer): Promise<void> {
  try {
    await worker.write(bytes);
  } catch (error) {
    if (error instanceof WorkerError) await expectLine(worker);
    throw error;
  }
}

/** The file is larger than `TURND_MAX_FILE_BYTES` allows. */
export function tooLarge(maxBytes: number): ProblemError {
  return new ProblemError("body_too_large", `the file is larger than TURND_MAX_FILE_BYTES allows, ${maxBytes} bytes`);
}
