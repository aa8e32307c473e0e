import { chmodSync, lstatSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { startNpmService, type NpmService } from "../../../harness/npm-service.ts";
import { CLI_USER, temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

/** What the CLIs' user can do with each path of its input: by doing it, since a mode is not all that decides. */
const ATTEMPT = `
while (my $path = <STDIN>) {
  chomp $path;
  print "enter $path\\n" if -d $path && chdir $path && chdir "/";
  print "list $path\\n" if opendir my $directory, $path;
  print "read $path\\n" if -f $path && open my $reading, "<", $path;
  print "write $path\\n" if -f $path && open my $writing, ">>", $path;
}`;

/** Every path of a directory that is root's, and that itself; what the CLIs' user owns stands for what is in it. */
function pathsIn(directory: string): string[] {
  const names = readdirSync(directory, { withFileTypes: true });
  return [
    directory,
    ...names.flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() && lstatSync(path).uid === 0 ? pathsIn(path) : [path];
    }),
  ];
}

async function walkAsUser(data: string): Promise<string[]> {
  const { stdout } = await execa("setpriv", ["--reuid=1000", "--regid=1000", "--clear-groups", "perl", "-e", ATTEMPT], {
    cwd: "/",
    input: pathsIn(data).join("\n"),
  });
  return (
    stdout
      .split("\n")
      .map((line) =>
        line.replace(/^(\w+) (.*)$/, (_, did: string, path: string) => `${did} ${relative(data, path) || "."}`),
      )
      .map((line) => line.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>"))
      // The home of a check of a CLI, while it lasts.
      .filter((line) => !/^(enter turnd\/probe-\w+(\/home)?|list turnd\/probe-\w+\/home)$/.test(line))
      // Copies of the CLIs, for a repository that only root can enter: they may run them, and change nothing.
      .filter((line) => !/^(enter|list|read) turnd\/clis(\/|$)/.test(line))
      .filter((line, index, lines) => lines.indexOf(line) === index)
      .toSorted()
  );
}

const owned = (...paths: string[]): string[] => paths.flatMap((path) => [`enter ${path}`, `list ${path}`]);

/** It passes through to what is its own, and reads an empty repository of turnd's. */
const REACHED = [
  ...[".", "turnd", "turnd/sessions", "turnd/sessions/<id>", "workspaces"].map((path) => `enter ${path}`),
  ...owned("home", "turnd/sessions/<id>/home", "workspaces/<id>", "workspaces/default"),
  ...owned("turnd/git", "turnd/git/objects", "turnd/git/refs"),
  "read turnd/git/HEAD",
  "read turnd/git/config",
].toSorted();

/** A run that goes on until it is cancelled. @returns once its turn runs */
async function startRun({ url }: NpmService, data: string, id: string): Promise<void> {
  const call = async (path: string, body: unknown, token?: string): Promise<Record<string, unknown>> => {
    const headers = {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(new URL(path, url), {
      headers,
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    expect(answer.ok, path).toBe(true);
    return z.record(z.string(), z.unknown()).parse(await answer.json());
  };
  const password = readFileSync(join(data, "admin-password"), "utf8").trim();
  const { access_token } = await call("/api/auth/token", { username: "admin", password });
  const token = String(access_token);
  const { id: thread_id } = await call("/api/chat/thread", { agent_id: "cli-b" }, token);
  const body = { agent_slug: "cli-b", thread_id, query: "hang", meta: { request_id: id } };
  const { run_id } = await call("/api/agent/runs", body, token);
  await waitFor("the turn runs", async () => {
    const page = await call(`/api/agent/runs/${String(run_id)}/events?format=json`, undefined, token);
    return JSON.stringify(page).includes("svc.turn");
  });
}

test.skipIf(CLI_USER.isSelf)(
  "while turns run the CLIs' user reaches what is its own and lists nothing else, also where all was open before",
  { timeout: 600_000 },
  async () => {
    const parent = temporaryDirectory(onTestFinished);
    const data = join(parent, "svc");
    const first = await startNpmService(data, fakeEnv(parent));
    await startRun(first, data, "request-0001");
    expect(await walkAsUser(data)).toEqual(REACHED);
    expect(await first.end("SIGTERM")).toBe(0);

    for (const path of pathsIn(data)) {
      const found = lstatSync(path);
      if (found.uid !== 0 || found.isSymbolicLink()) continue;
      // A state that others can write is refused as it is.
      const isState = relative(data, path).startsWith("turnd");
      chmodSync(path, found.mode | (isState ? 0o044 : 0o066) | (found.isDirectory() ? 0o011 : 0));
    }
    chmodSync(data, 0o755);
    expect((await walkAsUser(data)).length).toBeGreaterThan(1_000);
    const second = await startNpmService(data, fakeEnv(parent));
    expect(second.output()).toContain("could reach this until now");
    await startRun(second, data, "request-0002");
    expect(await walkAsUser(data)).toEqual(REACHED);
  },
);
