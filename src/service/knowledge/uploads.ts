import { extname } from "node:path";
import type { Readable } from "node:stream";
import { sql } from "kysely";
import type { Logger } from "pino";
import type { Uploaded } from "../api/knowledge-files.ts";
import { ApiProblem, ValidationProblem } from "../api/problems.ts";
import type { Caller } from "../auth/caller.ts";
import { ObjectTooLarge, type Objects, type StoredObject } from "../storage/objects.ts";
import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";
import { holdBase, type BaseRow } from "./access.ts";
import { addressOf } from "./addresses.ts";
import { checkFilename } from "./file-types.ts";
import type { SupportedType } from "./parse/parser.ts";
import type { OnKnowledgeStep } from "./worker-context.ts";

export interface UploadsOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly maxFileBytes: number;
  /** Of one process. */
  readonly mostAtOnce: number;
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

const RETRY_AFTER_SECONDS = 5;
const KEPT_DAYS = 7;
/** Files named in a refusal or answer. */
const MOST_NAMED = 20;

interface Original {
  readonly filename: string;
  readonly object: StoredObject;
}

export function createUploads(options: UploadsOptions) {
  const { storage, objects } = options;
  let open = 0;

  /** @throws {ApiProblem} too_many_uploads @returns ends it */
  function begin(): () => void {
    if (open >= options.mostAtOnce) {
      throw new ApiProblem(
        "too_many_uploads",
        `${options.mostAtOnce} uploads are under way already`,
        {},
        RETRY_AFTER_SECONDS,
      );
    }
    open += 1;
    let isOver = false;
    return () => {
      if (!isOver) open -= 1;
      isOver = true;
    };
  }

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
      const uploaded = await storage.transaction((trx) => record(trx, base, caller, taken, isAllowed));
      options.onStep?.("upload.recorded", taken.object.key);
      return uploaded;
    } catch (error) {
      // What is not deleted here, the sweep deletes.
      if (original !== undefined)
        await objects
          .delete(original.object.key)
          .catch((fault: unknown) => options.logger.warn({ err: fault }, "a refused upload was not deleted"));
      throw error;
    }
  }

  return { begin, receive };
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

/** Names the object, so that it stays until a file record does. */
async function record(
  trx: Transaction,
  base: BaseRow,
  caller: Caller,
  { filename, object }: Original,
  allowsDuplicate: boolean,
): Promise<Uploaded> {
  await holdBase(trx, base.id);
  const named = trx
    .selectFrom("knowledge_file")
    .select(["id as file_id", "filename", "status"])
    .where("kb_id", "=", base.id)
    .orderBy("created_at")
    .limit(MOST_NAMED);
  if (!allowsDuplicate) {
    const files = await named.where("content_hash", "=", object.sha256).execute();
    if (files.length > 0) {
      throw new ApiProblem(
        "duplicate_content",
        "this knowledge base has a file of this content: send allow_duplicate=true to upload it again",
        { content_hash: object.sha256, files },
      );
    }
  }
  const sameName = await named.where("filename", "=", filename).execute();
  await trx
    .insertInto("knowledge_upload")
    .values({
      object_key: object.key,
      kb_id: base.id,
      filename,
      content_hash: object.sha256,
      size: object.bytes,
      created_by: caller.userId,
      expires_at: sql<Date>`now() + make_interval(days => ${KEPT_DAYS}::int)`,
    })
    .execute();
  return {
    message: "uploaded; add it to the knowledge base by its file_path",
    file_path: addressOf(base.id, object.key, filename),
    content_hash: object.sha256,
    size: object.bytes,
    kb_id: base.id,
    filename,
    file_type: extname(filename).slice(1).toLowerCase(),
    has_same_name: sameName.length > 0,
    same_name_files: sameName,
  };
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
