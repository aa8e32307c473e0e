import { appendFileSync, statSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { OWN_USER } from "../../scripts/cli-user.ts";
import { createClient } from "../harness/client.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { startListening } from "../harness/listening-process.ts";
import { startNpmService } from "../harness/npm-service.ts";
import { HAS_OWN_ACCOUNTS, ownAccounts, type OwnAccounts } from "../harness/own-accounts.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const SECURITY = join(REPOSITORY, "SECURITY.md");
const WARNING = /which is alice, an account with a login \(home \/home\/alice\)/;

/** A plain machine, whose first person is uid 1000. */
function plainMachine(): OwnAccounts {
  const machine = ownAccounts(onTestFinished);
  const others = machine.accounts().flatMap(({ uid, name }) => (uid === 1_000 ? [name] : []));
  if (others.length === 0) appendFileSync(machine.passwd, "alice:x:1000:1000::/home/alice:/bin/bash\n");
  else machine.replace(new RegExp(`^${others[0]}:.*$`, "m"), "alice:x:1000:1000::/home/alice:/bin/bash");
  return machine;
}

/** `npm start` with a state directory alone, a turn of it, and its end. */
async function startAndRun(
  machine: OwnAccounts,
  directory: string,
  env: Record<string, string> = {},
  session?: string,
) {
  const { CLI_B_NAME, ...fake } = fakeEnv(directory);
  const command = [...machine.through, process.execPath, join(REPOSITORY, "scripts/start.mjs"), "serve"] as const;
  const { url, log, kill, exited } = await startListening(command, {
    ...fake,
    CLI_B_NAME,
    HOME: "/root",
    TURND_PORT: "0",
    TURND_TURN_CGROUPS: "off",
    TURND_STATE_DIR: join(directory, "state"),
    ...env,
  });
  onTestFinished(() => kill("SIGKILL"));
  const client = createClient(url);
  const where = session === undefined ? { executor: "cli-b" } : { session_id: session };
  const turn = await client.run({ ...where, input: "id\nshell touch made" });
  const { workspace } = (await client.request("GET", `/v1/sessions/${turn.session_id}`)).body;
  kill("SIGTERM");
  await exited;
  return { session: turn.session_id, output: turn.output ?? "", workspace: String(workspace), log: log.join("\n") };
}

test.skipIf(!HAS_OWN_ACCOUNTS)("npm start runs the CLIs as a user of their own, on a new state", async () => {
  const [machine, directory] = [plainMachine(), temporaryDirectory(onTestFinished)];
  const { output, workspace, log } = await startAndRun(machine, directory);
  const own = machine.accounts().find(({ name }) => name === OWN_USER);
  expect(output).toMatch(new RegExp(`^${own?.uid} ${own?.uid} `));
  expect(workspace).toContain(`${join(directory, "state-users/workspace")}/`);
  expect(statSync(join(workspace, "made")).uid).toBe(own?.uid);
  expect(log).toContain(`the CLIs run as turnd-cli, uid ${own?.uid}`);
  expect(log).not.toMatch(WARNING);
  // The next start finds it, and whoever names another user is obeyed.
  const again = await startAndRun(machine, directory);
  expect(again.output).toMatch(new RegExp(`^${own?.uid} `));
  expect(again.log).not.toContain("that was made");
});

test.skipIf(!HAS_OWN_ACCOUNTS)(
  "a state that was made with uid 1000 keeps it, with a warning that it is a person's; TURND_RUN_AS wins",
  async () => {
    const [machine, directory] = [plainMachine(), temporaryDirectory(onTestFinished)];
    const named = await startAndRun(machine, directory, { TURND_RUN_AS: "1000:1000" });
    expect(named.output).toMatch(/^1000 1000 /);
    expect(named.log).toMatch(WARNING);
    const kept = await startAndRun(machine, directory);
    expect(kept.output).toMatch(/^1000 1000 /);
    expect(kept.log).toMatch(WARNING);
    expect(machine.accounts().some(({ name }) => name === OWN_USER)).toBe(false);
    // As SECURITY.md says it, but for its places.
    const [, block = ""] = /^ *(useradd --system [^]*?)^ *```/m.exec(await readFile(SECURITY, "utf8")) ?? [];
    const [useradd = "", chown = ""] = block.split("\n").map((line) => line.trim());
    const script = `${useradd}\n${chown.replaceAll("/var/lib/turnd", join(directory, "state"))}`;
    const [unshare, ...args] = machine.through;
    await execa(unshare, [...args, "bash", "-ec", script]);
    const moved = await startAndRun(machine, directory, {}, kept.session);
    const own = machine.accounts().find(({ name }) => name === OWN_USER);
    expect(moved.output).toMatch(new RegExp(`^${own?.uid} ${own?.uid} `));
    expect(moved.workspace).toBe(kept.workspace);
    expect(moved.log).not.toMatch(WARNING);
  },
);

test.skipIf(!HAS_OWN_ACCOUNTS)("npm run service does the same", async () => {
  const [machine, directory] = [plainMachine(), join(temporaryDirectory(onTestFinished), "svc")];
  const service = await startNpmService(directory, { TURND_RUN_AS: "" }, machine.through);
  const own = machine.accounts().find(({ name }) => name === OWN_USER);
  expect(own?.uid).toBeGreaterThan(0);
  expect(statSync(join(directory, "home")).uid).toBe(own?.uid);
  expect(service.output()).toContain(`the CLIs run as turnd-cli, uid ${own?.uid}`);
  expect(service.output()).not.toMatch(WARNING);
  expect(await service.end("SIGTERM")).toBe(0);
});
