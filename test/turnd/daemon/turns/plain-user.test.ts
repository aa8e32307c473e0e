import { execFileSync } from "node:child_process";
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createTurndClient } from "../../../../src/turnd/client/turnd-client.ts";
import { startDaemon } from "../../../harness/daemon.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { CLI_USER, temporaryDirectory, userDirectory, userFile } from "../../../harness/temporary.ts";

const READING_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"];

/** Starts turnd as a plain user who runs the CLIs too; where the tests are such a user's, as that one. */
async function startAsPlainUser() {
  const directory = temporaryDirectory(onTestFinished);
  const env = { ...fakeEnv(directory), TURND_RUN_AS: "self" };
  userFile(directory);
  const { uid, gid, isSelf } = CLI_USER;
  const turnd = await startDaemon({
    directory,
    env,
    // The repository, with its Node, may lie where that user cannot go.
    ...(isSelf ? {} : { through: ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...READING_ALL] }),
  });
  onTestFinished(async () => void (await turnd.stop()));
  return { turnd, client: createTurndClient({ baseUrl: turnd.url }) };
}

test("files and diffs of a turnd that is not root work as of one that is", async () => {
  const { turnd, client } = await startAsPlainUser();
  const workspace = userDirectory(join(turnd.workspace, "repository"));
  const { session_id: id } = await client.createSession({ executor: "cli-b", workspace });
  const made = await client.writeFile(id, "data/in.csv", "a,b\n", { isExecutable: true });
  expect(made).toMatchObject({ path: "data/in.csv", size_bytes: 4, mode: "755" });
  expect(lstatSync(join(workspace, "data/in.csv"))).toMatchObject({ uid: CLI_USER.uid, gid: CLI_USER.gid });
  expect(await (await client.readFile(id, "data/in.csv", { range: "bytes=2-" })).text()).toBe("b\n");
  const listed: string[] = [];
  for await (const { path } of client.eachFile(id, "")) listed.push(path);
  expect(listed).toEqual(["data"]);
  const zip = await fetch(`${turnd.url}/v1/sessions/${id}/files/?archive=zip`);
  expect([zip.status, (await zip.arrayBuffer()).byteLength > 100]).toEqual([200, true]);

  execFileSync("git", ["init", "-q", workspace], {
    env: { PATH: "/usr/bin:/bin", HOME: "/nonexistent" },
    ...(CLI_USER.isSelf ? {} : { uid: CLI_USER.uid, gid: CLI_USER.gid }),
  });
  const input = "shell echo made > by-the-turn; rm data/in.csv; ln -s /etc/passwd link";
  const { turn_id: turnId } = await client.submit({ session_id: id, input, diff: true });
  expect((await client.wait(turnId)).status).toBe("completed");
  const { patch } = await client.diff(turnId);
  expect([...patch.matchAll(/^diff --git a\/(\S+)/gm)].map(([, name]) => name)).toEqual([
    "by-the-turn",
    "data/in.csv",
    "link",
  ]);
  await expect(client.readFile(id, "link")).rejects.toMatchObject({ code: "file_type_mismatch" });
  await client.removeFile(id, "data", { isRecursive: true });
  await client.deleteSession(id);
});

test("a turnd that is not root refuses what it may not do", async () => {
  const { turnd, client } = await startAsPlainUser();
  expect(turnd.log.join("\n")).toContain("the CLIs run as turnd's own user");
  const outside = client.createSession({ executor: "cli-b", workspace: "/root" });
  await expect(outside).rejects.toMatchObject({ code: "workspace_unusable" });
  const { session_id: id } = await client.createSession({ executor: "cli-b" });
  const closed = userDirectory(join(turnd.workspace, "closed"));
  execFileSync("chmod", ["0500", closed]);
  await expect(client.writeFile(id, "closed/file", "x")).rejects.toMatchObject({ code: "file_forbidden" });
});
