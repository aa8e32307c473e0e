import { createHash, randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { openObjectBucket } from "../../../src/service/storage/object-bucket.ts";
import { openObjectDirectory } from "../../../src/service/storage/object-directory.ts";
import { ObjectMissing, ObjectTooLarge, type Objects } from "../../../src/service/storage/objects.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { startBucketServer } from "../harness/bucket-server.ts";

async function bucket(): Promise<Objects> {
  const server = await startBucketServer();
  onTestFinished(() => server.close());
  return openObjectBucket({
    endpoint: server.url,
    region: "eu-test-1",
    bucket: "bucket",
    prefix: "svc/one",
    accessKeyId: "the-key",
    secretAccessKey: "the-secret",
  });
}

describe.each([
  ["directory", async () => openObjectDirectory(temporaryDirectory(onTestFinished))],
  ["bucket", bucket],
])("%s", (_name, open) => {
  test("what is put comes back, with its length and hash", async () => {
    const objects = await open();
    const bytes = randomBytes(300_000);
    const put = await objects.put(Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]), 300_000);
    expect(put).toMatchObject({ bytes: 300_000, sha256: createHash("sha256").update(bytes).digest("hex") });
    expect((await buffer(await objects.get(put.key))).equals(bytes)).toBe(true);
  });

  test("more than the limit is refused and nothing kept", async () => {
    const objects = await open();
    await expect(objects.put(randomBytes(11), 10)).rejects.toBeInstanceOf(ObjectTooLarge);
    expect(await keys(objects)).toEqual([]);
  });

  test("all are listed, and what is deleted is gone, once and again", async () => {
    const objects = await open();
    const made = await Promise.all([1, 2, 3, 4, 5].map((size) => objects.put(randomBytes(size), 10)));
    expect(await keys(objects)).toEqual(made.map(({ key }) => key).toSorted());
    const [first] = made;
    if (first === undefined) throw new Error("nothing made");
    await objects.delete(first.key);
    await objects.delete(first.key);
    await expect(objects.get(first.key)).rejects.toBeInstanceOf(ObjectMissing);
    expect(await keys(objects)).toHaveLength(4);
  });

  test("only our own keys are taken", async () => {
    const objects = await open();
    await expect(objects.get("../../etc/passwd")).rejects.toThrow("not the key");
    await expect(objects.delete("aa/../../x")).rejects.toThrow("not the key");
  });
});

test("a source that breaks leaves no file behind", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const source = Readable.from(
    (async function* () {
      yield Buffer.from("half");
      throw new Error("broken");
    })(),
  );
  await expect(openObjectDirectory(directory).put(source, 100)).rejects.toThrow("broken");
  expect(readdirSync(join(directory, "incoming"))).toEqual([]);
});

async function keys(objects: Objects): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of objects.list()) found.push(key);
  return found.toSorted();
}
