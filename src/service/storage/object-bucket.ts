import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { AwsClient } from "aws4fetch";
import { writeSynced } from "./object-directory.ts";
import { assertKey, ObjectMissing, type ObjectEntry, type Objects, type StoredObject } from "./objects.ts";

/** A bucket of S3 or of a store with its API. */
export interface BucketOptions {
  /** Such as `https://s3.eu-central-1.amazonaws.com`; the bucket is the first part of the path. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Before every key, without slashes at its ends; may be empty. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const ANSWER_MS = 60_000;

/** Objects in a bucket. An upload is spooled first: its length has to be known, and a whole object is put or none. */
export function openObjectBucket(options: BucketOptions): Objects {
  const client = new AwsClient({
    accessKeyId: options.accessKeyId,
    secretAccessKey: options.secretAccessKey,
    region: options.region,
    service: "s3",
    retries: 3,
  });
  const base = `${options.endpoint.replace(/\/$/, "")}/${options.bucket}`;
  const beforeKey = options.prefix === "" ? "" : `${options.prefix}/`;
  const urlOf = (key: string): string => `${base}/${beforeKey}${key}`;

  async function ask(url: string, init: RequestInit & { duplex?: "half" } = {}): Promise<Response> {
    return client.fetch(url, { signal: AbortSignal.timeout(ANSWER_MS), ...init });
  }

  async function put(source: Readable | Uint8Array, limit: number): Promise<StoredObject> {
    const id = randomUUID();
    const key = `${id.slice(0, 2)}/${id}`;
    const spool = await mkdtemp(join(tmpdir(), "svc-object-"));
    try {
      const path = join(spool, "object");
      const written = await writeSynced(path, source, limit);
      const headers = {
        "content-length": String(written.bytes),
        "content-type": "application/octet-stream",
        // The hash is in the signature: what arrives is what was read.
        "x-amz-content-sha256": written.sha256,
      };
      const signed = await client.sign(urlOf(key), { method: "PUT", headers, aws: { allHeaders: false } });
      const body = Readable.toWeb(createReadStream(path));
      const answer = await fetch(signed.url, {
        method: "PUT",
        headers: { ...Object.fromEntries(signed.headers), "content-length": String(written.bytes) },
        body,
        duplex: "half",
        signal: AbortSignal.timeout(ANSWER_MS * 10),
      });
      await expectOk(answer, `put ${key}`);
      return { key, ...written };
    } finally {
      await rm(spool, { recursive: true, force: true });
    }
  }

  async function* list(): AsyncGenerator<ObjectEntry> {
    let after: string | undefined;
    do {
      const query = new URLSearchParams({ "list-type": "2", ...(beforeKey === "" ? {} : { prefix: beforeKey }) });
      if (after !== undefined) query.set("continuation-token", after);
      const answer = await ask(`${base}?${query.toString()}`);
      const text = await expectOk(answer, "list");
      for (const [, entry = ""] of text.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)) {
        const key = tag(entry, "Key").slice(beforeKey.length);
        if (/^[0-9a-f]{2}\/[0-9a-f-]{36}$/.test(key)) yield { key, modifiedAt: new Date(tag(entry, "LastModified")) };
      }
      after = tag(text, "IsTruncated") === "true" ? tag(text, "NextContinuationToken") : undefined;
    } while (after !== undefined && after !== "");
  }

  return {
    put,
    async get(key) {
      assertKey(key);
      const answer = await ask(urlOf(key));
      if (answer.status === 404) throw new ObjectMissing(key);
      if (!answer.ok || answer.body === null) throw new Error(`get ${key}: ${answer.status} ${await answer.text()}`);
      return Readable.fromWeb(answer.body);
    },
    async delete(key) {
      assertKey(key);
      const answer = await ask(urlOf(key), { method: "DELETE" });
      if (answer.status !== 404) await expectOk(answer, `delete ${key}`);
    },
    list,
    // A bucket has only whole objects; the spool is the system's temporary directory.
    deleteUnfinished: async () => undefined,
  };
}

async function expectOk(answer: Response, what: string): Promise<string> {
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the object store refused to ${what}: ${answer.status} ${text.slice(0, 500)}`);
  return text;
}

/** The text of an element that has no children; the five entities are all that S3 writes. */
function tag(xml: string, name: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (whole, entity: string) => entities[entity] ?? whole);
}
