import { execa } from "execa";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { holdDataDirectory } from "../../../src/service/storage/lock.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { PASSWORD, testAuth } from "../harness/auth.ts";
import { SECRETS } from "../harness/sentinel.ts";
import { freshDatabase, openTestStorage } from "../harness/storage.ts";

const run = (input: string, env: Readonly<Record<string, string>>, username = "root") =>
  execa(process.execPath, [join(REPOSITORY, "src/service/main.ts"), "reset-password", username], {
    extendEnv: false,
    env: { PATH: "/usr/bin:/bin", ...env },
    input,
    reject: false,
  });

test("the password on standard input is the user's, beside a service that runs; what is wrong is named", async () => {
  const database = await freshDatabase("postgres");
  const storage = await openTestStorage(database);
  onTestFinished(() => storage.close());
  const { logins, credentials } = testAuth(storage);
  const { token } = await logins.initialize({ username: "root", password: PASSWORD }, null);
  const env = {
    ...SECRETS,
    DATABASE_URL: database.url,
    SERVICE_DATA_DIR: temporaryDirectory(onTestFinished),
  };
  expect(await run("too few", env)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("8 to 200") });
  expect(await run("good enough", env, "rot")).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('"rot"') });
  expect(await credentials.authenticate(`Bearer ${token}`)).toMatchObject({ username: "root" });
  const done = await run("good enough\n", env);
  expect(done).toMatchObject({ exitCode: 0, stderr: "" });
  expect(done.stdout).not.toContain("good enough");
  await expect(credentials.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: "unauthorized" });
  expect((await logins.logIn({ username: "root", password: "good enough" }, "127.0.0.1")).user.id).toBe(1);
});

test("on PGlite the service has to be stopped first", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const lock = await holdDataDirectory(join(directory, "lock"));
  onTestFinished(() => lock.release());
  expect(await run("good enough", { SERVICE_DATA_DIR: directory })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`pid ${process.pid}`),
  });
});
