import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, openAsBlob } from "node:fs";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { z } from "zod";
import { ask } from "../../../soak/service/caller.ts";
import type { EngineName } from "../../../soak/service/stage.ts";
import { percentile, type Figure } from "../../figures.ts";
import { timed } from "../../timed.ts";
import { withService } from "../service-stage.ts";

const BYTES = 100_000_000;
const PIECE = 1_000_000;
const TIMES = 5;
const MOST_MEBIBYTES = 60;
const Made = z.looseObject({ database: z.looseObject({ kb_id: z.string() }) });

/** 100 MB over HTTP into the service, beside a copy of the same file that makes the same digest. */
export async function benchUpload(engine: EngineName, directory: string): Promise<Figure[]> {
  return withService(engine, directory, async ({ stage, caller }) => {
    const body = { name: "bench", kb_type: "local" };
    const { database } = await ask(caller, Made, ["POST", "/api/knowledge/databases", body]);
    const path = join(directory, "original.txt");
    await pipeline(Readable.from(pieces()), createWriteStream(path));
    const send = async (): Promise<void> => {
      const form = new FormData();
      form.set("file", await openAsBlob(path), "original.txt");
      const url = `${stage.urls[0]}/api/knowledge/files/upload?kb_id=${database.kb_id}&allow_duplicate=true`;
      const answer = await fetch(url, { method: "POST", headers: caller.headers, body: form });
      if (!answer.ok) throw new Error(`the upload was answered ${answer.status}: ${await answer.text()}`);
      await answer.text();
    };
    await send();
    const pid = stage.service.pid();
    const before = residentBytes(pid);
    let most = before;
    const watch = setInterval(() => void (most = Math.max(most, residentBytes(pid))), 10);
    const [ours, copies]: [number[], number[]] = [[], []];
    try {
      for (let time = 0; time < TIMES; time += 1) {
        ours.push(await timed(send));
        copies.push(await timed(() => copy(path, join(directory, "copy.txt"))));
      }
    } finally {
      clearInterval(watch);
    }
    const [upload, plain] = [percentile(ours, 0.5), percentile(copies, 0.5)];
    const speed = (ms: number): string => `${(BYTES / 1_000 / ms).toFixed(0)} MB/s`;
    const grown = (most - before) / 2 ** 20;
    return [
      {
        measure: `knowledge ${engine}: an upload of 100 MB, p50 of ${TIMES}`,
        turnd: speed(upload),
        yardstick: `${speed(plain)}, a copy with its SHA-256`,
        ratio: plain / upload,
        target: ">= 0.5",
      },
      {
        measure: `knowledge ${engine}: more resident during ${TIMES} such uploads`,
        turnd: `${grown.toFixed(0)} MiB`,
        yardstick: `${MOST_MEBIBYTES} MiB`,
        ratio: grown / MOST_MEBIBYTES,
        target: "<= 1",
      },
    ];
  });
}

function* pieces(): Generator<Buffer> {
  for (let written = 0; written < BYTES; written += PIECE) yield Buffer.alloc(PIECE, `line ${written}\n`);
}

async function copy(from: string, to: string): Promise<void> {
  const hash = createHash("sha256");
  await pipeline(
    createReadStream(from),
    async function* (source: AsyncIterable<Buffer>) {
      for await (const piece of source) {
        hash.update(piece);
        yield piece;
      }
    },
    createWriteStream(to, { flush: true }),
  );
  hash.digest("hex");
  rmSync(to);
}

function residentBytes(pid: number): number {
  const [, kilobytes = "0"] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) * 1_024;
}
