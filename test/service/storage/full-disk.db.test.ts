import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../../src/service/storage/engine.ts";
import { openObjectDirectory } from "../../../src/service/storage/object-directory.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { call, testApp } from "../harness/app.ts";
import { testAuth } from "../harness/auth.ts";
import { makePerson, openDesk } from "../harness/knowledge.ts";
import { freshStorage, openTestStorage, seedDataDirectory } from "../harness/storage.ts";

/** Only root can mount. */
const IS_ROOT = process.getuid?.() === 0;

/** A small disk, and what fills it up and empties it. */
async function smallDisk(megabytes: number) {
  const directory = join(temporaryDirectory(onTestFinished), "disk");
  mkdirSync(directory);
  await execa("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=700`, "svc-test", directory]);
  onTestFinished(async () => void (await execa("umount", ["--lazy", directory])));
  const filler = join(directory, "filler");
  const fill = (): void => {
    const { bavail, bsize } = statfsSync(directory);
    writeFileSync(filler, Buffer.alloc(bavail * bsize));
  };
  return { directory, fill, empty: () => rmSync(filler) };
}

test.runIf(IS_ROOT)(
  "an upload that does not fit on the disk is 507 and leaves nothing; with room it is taken",
  async () => {
    const disk = await smallDisk(8);
    const desk = await openDesk(await freshStorage("pglite"), { objects: openObjectDirectory(disk.directory) });
    const before = await desk.add("before.md", "# Before\n\nText.");
    disk.fill();
    const long = `# Long\n\n${"word ".repeat(100_000)}`;
    const refused = await desk.upload("long.md", long);
    expect([refused.status, refused.body.detail.code]).toEqual([507, "storage_full"]);
    expect(readdirSync(join(disk.directory, "incoming"))).toEqual([]);
    // What needs no room goes on.
    expect((await desk.file(before)).status).toBe("uploaded");
    // A text that cannot be kept is a failure of its file, which can be tried again.
    const parse = await desk.ask("POST", `${desk.path}/documents/parse`, [before]);
    disk.empty();
    await desk.ended(parse.body.task_id);
    const again = await desk.upload("long.md", long);
    expect(again.status).toBe(200);
    const { body } = await desk.ask("POST", `${desk.path}/documents`, { items: [again.body.file_path], params: {} });
    expect(await desk.ended(body.task_id)).toMatchObject({ status: "success", result: { parsed: 1, failed: 0 } });
  },
);

test.runIf(IS_ROOT)(
  "a database whose disk is full refuses writes as 507, reads on, and takes them once there is room",
  async () => {
    const disk = await smallDisk(160);
    await seedDataDirectory(disk.directory);
    const storage = await openTestStorage({ kind: "pglite", directory: join(disk.directory, "pglite") });
    onTestFinished(() => storage.close());
    const app = await testApp(storage, { auth: testAuth(storage) });
    onTestFinished(() => app.close());
    const { token } = await makePerson(storage, "superadmin");
    const create = (name: string) => call(app, "POST", "/api/departments", { name }, { token });
    const names = async (): Promise<string[]> => {
      const { body } = await call(app, "GET", "/api/departments", undefined, { token });
      return body.departments.map(({ name }: { name: string }) => name);
    };
    const taken: string[] = [];
    disk.fill();
    let refusal: unknown;
    for (let at = 0; at < 5_000 && refusal === undefined; at += 1) {
      const name = `d${at} ${randomBytes(40).toString("hex")}`;
      const { status, body } = await create(name);
      if (status === 200) taken.push(name);
      else refusal = [status, body.detail.code];
    }
    expect(refusal).toEqual([507, "storage_full"]);
    expect((await names()).toSorted()).toEqual(taken.toSorted());
    disk.empty();
    expect((await create("after")).status).toBe(200);
    expect((await names()).toSorted()).toEqual([...taken, "after"].toSorted());
  },
);

test.runIf(IS_ROOT)(
  "a database that ends on a full disk fails each query at once, says so once, and is whole when it is opened again",
  { timeout: 180_000 },
  async () => {
    const disk = await smallDisk(160);
    await seedDataDirectory(disk.directory);
    const directory = join(disk.directory, "pglite");
    const ends: string[] = [];
    const engine = await openEngine(
      { kind: "pglite", directory },
      { onConnectionLost: () => undefined, onDatabaseEnded: ({ message }) => ends.push(message) },
    );
    await sql`create table one (x text not null)`.execute(engine.db);
    await sql`insert into one values ('first')`.execute(engine.db);
    await sql`checkpoint`.execute(engine.db);
    disk.fill();
    // One row that stays where it is: only the log of its changes grows, until its next segment does not fit.
    let last = "first";
    let fault: unknown;
    for (let at = 0; at < 100_000 && fault === undefined; at += 1) {
      const next = randomBytes(950).toString("hex");
      await sql`update one set x = ${next}`.execute(engine.db).then(
        () => (last = next),
        (error: unknown) => (fault = error),
      );
    }
    expect(fault).toMatchObject({ code: "53100", severity: "PANIC" });
    await expect(sql`select 1`.execute(engine.db)).rejects.toBe(fault);
    expect(ends).toEqual([expect.stringContaining("No space left on device")]);
    await engine.close();
    disk.empty();
    const again = await openEngine({ kind: "pglite", directory }, { onConnectionLost: () => undefined });
    onTestFinished(() => again.close());
    expect((await sql`select x from one`.execute(again.db)).rows).toEqual([{ x: last }]);
  },
);
