import { extname } from "node:path";
import type { Readable } from "node:stream";
import type { Logger } from "pino";
import type { Uploaded } from "../../protocol/knowledge-files.ts";
import { ApiProblem, ValidationProblem } from "../../protocol/problems.ts";
import { createShares } from "../../protocol/shares.ts";
import type { Caller } from "../../auth/caller.ts";
import { ObjectTooLarge, type Objects, type StoredObject } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { checkFilename } from "./file-types.ts";
import { nameUpload } from "./name-upload.ts";
import type { SupportedType } from "../parse/parser.ts";
import type { OnKnowledgeStep } from "../state/steps.ts";

export interface UploadsOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly maxFileBytes: number;
  /** Of one process. */
  readonly mostAtOnce: number;
  /** Of these, a user's. */
  readonly mostOfOne: number;
  /** Extensions that are taken. */
  readonly types: readonly SupportedType[];
  readonly onStep?: OnKnowledgeStep | undefined;
}

/** A part of a multipart body, in the order they come. */
export type UploadPart =
  | { readonly type: "file"; readonly name: string; readonly filename: string; readonly stream: Readable }
  | { readonly type: "field"; readonly name: string; readonly value: unknown };

/** Takes originals in: streamed, never in memory. */
export type Uploads = ReturnType<typeof createUploads>;

interface Original {
  readonly filename: string;
  readonly object: StoredObject;
}

export function createUploads(options: UploadsOptions) {
  const { storage, objects } = options;
  const shares = createShares({
    most: options.mostAtOnce,
    mostOfOne: options.mostOfOne,
    code: "too_many_uploads",
    what: "uploads",
  });

  /** Stores the one file of a body. Nothing is kept of one that is refused. */
  async function receive(
    base: BaseRow,
    caller: Caller,
    parts: AsyncIterable<UploadPart>,
    allowsDuplicate: boolean,
  ): Promise<Uploaded> {
    let original: Original | undefined;
    let isAllowed = allowsDuplicate;
    try {
      for await (const part of parts) {
        if (part.type === "field") isAllowed = readField(part);
        else if (part.name !== "file" || original !== undefined) throw refusePart(part.name);
        else original = await store(options, part);
      }
      if (original === undefined) throw new ApiProblem("file_required", "send one part `file` with a file name");
      const taken = original;
      options.onStep?.("upload.stored", taken.object.key);
      const named = await storage.transaction((trx) =>
        nameUpload(trx, base, caller, { ...taken, allowsDuplicate: isAllowed }),
      );
      options.onStep?.("upload.recorded", taken.object.key);
      return {
        message: "uploaded; add it to the knowledge base by its file_path",
        ...named,
        kb_id: base.id,
        file_type: extname(taken.filename).slice(1).toLowerCase(),
      };
    } catch (error) {
      // What is not deleted here, the sweep deletes.
      if (original !== undefined)
        await objects
          .delete(original.object.key)
          .catch((fault: unknown) => options.logger.warn({ err: fault }, "a refused upload was not deleted"));
      throw error;
    }
  }

  return {
    /** Takes one of the places. @throws {ApiProblem} too_many_uploads @returns ends it */
    begin: shares.take,
    receive,
  };
}

async function store(
  { objects, maxFileBytes, types }: UploadsOptions,
  { filename, stream }: Extract<UploadPart, { type: "file" }>,
): Promise<Original> {
  try {
    checkFilename(filename, types);
    const object = await objects.put(stream, maxFileBytes);
    if (object.bytes > 0) return { filename, object };
    await objects.delete(object.key);
    throw new ApiProblem("empty_file", `${filename} is empty`);
  } catch (error) {
    stream.resume();
    if (error instanceof ObjectTooLarge)
      throw new ApiProblem("file_too_large", `a file has at most ${maxFileBytes} bytes`, { limit: maxFileBytes });
    throw error;
  }
}

function readField({ name, value }: Extract<UploadPart, { type: "field" }>): boolean {
  if (name !== "allow_duplicate") throw refusePart(name);
  if (value === "true" || value === "false") return value === "true";
  throw new ValidationProblem([{ loc: ["body", name], msg: "true or false", type: "invalid_value" }]);
}

function refusePart(name: string): ValidationProblem {
  const msg = name === "file" ? "one file a call" : "unknown field";
  return new ValidationProblem([{ loc: ["body", name], msg, type: name === "file" ? "too_many" : "unknown_field" }]);
}
