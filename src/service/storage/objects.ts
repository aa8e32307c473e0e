import type { Readable } from "node:stream";

/** What was put. */
export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export interface ObjectEntry {
  readonly key: string;
  readonly modifiedAt: Date;
}

/** Bytes that are too large for rows. Put before the row that names them; what no row names is deleted by the sweep. */
export interface Objects {
  /** @param limit - bytes; @throws {ObjectTooLarge} when there are more, and nothing is kept */
  put(source: Readable | Uint8Array, limit: number): Promise<StoredObject>;
  /** @throws {ObjectMissing} */
  get(key: string): Promise<Readable>;
  /** Safe to repeat. */
  delete(key: string): Promise<void>;
  list(): AsyncIterable<ObjectEntry>;
  /** Deletes what puts that never ended have left, of before a time. */
  deleteUnfinished(before: Date): Promise<void>;
}

/** More bytes than allowed. */
export class ObjectTooLarge extends Error {
  readonly limit: number;

  constructor(limit: number) {
    super(`more than ${limit} bytes`);
    this.name = "ObjectTooLarge";
    this.limit = limit;
  }
}

/** There is no such object. */
export class ObjectMissing extends Error {
  constructor(key: string) {
    super(`there is no object ${key}`);
    this.name = "ObjectMissing";
  }
}

const KEY = /^[0-9a-f]{2}\/[0-9a-f-]{36}$/;

/** Keys are made by the service: nothing a caller writes becomes a path. @throws for anything else */
export function assertKey(key: string): void {
  if (!KEY.test(key)) throw new Error(`not the key of an object: ${JSON.stringify(key.slice(0, 100))}`);
}
