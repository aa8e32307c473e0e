import { execa } from "execa";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { seedDataDirectory } from "../harness/storage.ts";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { PASSWORD, testAuth } from "../harness/auth.ts";
import { SECRETS } from "../harness/sentinel.ts";
import { freshDatabase, openTestStorage } from "../harness/storage.ts";

const run = (env: Readonly<Record<string, string>>) =>
  execa(process.execPath, [join(REPOSITORY, "src/service/main.ts"), "end-credentials"], {
    extendEnv: false,
    env: { PATH: "/usr/bin:/bin", ...env },
    reject: false,
  });

test("every login and key ends beside a service that runs on PostgreSQL, and how many is said", async () => {
  const database = await freshDatabase("postgres");
  const storage = await openTestStorage(database);
  onTestFinished(() => storage.close());
  const { logins, credentials, keys } = testAuth(storage);
  const { token, user } = await logins.initialize({ username: "root", password: PASSWORD }, null);
  const caller = await credentials.authenticate(`Bearer ${token}`);
  const { secret } = await keys.create(
    { caller, ip: null },
    { userId: user.id, requestId: "create-key-0001", name: "k", expiresAt: null, source: "api" },
  );
  const env = { ...SECRETS, DATABASE_URL: database.url, SERVICE_DATA_DIR: temporaryDirectory(onTestFinished) };
  expect(await run(env)).toMatchObject({
    exitCode: 0,
    stderr: "",
    stdout: "the logins of 1 users have ended; 1 API keys and 0 webhooks are disabled",
  });
  for (const old of [token, secret])
    await expect(credentials.authenticate(`Bearer ${old}`)).rejects.toMatchObject({ code: "unauthorized" });
});

test("on PGlite it works on the data directory of a service that is stopped", async () => {
  const directory = temporaryDirectory(onTestFinished);
  await seedDataDirectory(directory);
  expect(await run({ SERVICE_DATA_DIR: directory })).toMatchObject({
    exitCode: 0,
    stdout: "the logins of 0 users have ended; 0 API keys and 0 webhooks are disabled",
  });
});
