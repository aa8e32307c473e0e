import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../storage/directories.ts";

const NAME = "git";

/**
 * Makes what git takes for `.git` when it reads a workspace: a repository with nothing in it, of turnd's own. The CLIs' user
 * can read it and change nothing, so no tool decides what git runs.
 *
 * @returns its path
 */
export async function makeGitDirectory(stateDirectory: string): Promise<string> {
  const directory = join(stateDirectory, NAME);
  await rm(directory, { recursive: true, force: true });
  for (const path of [directory, join(directory, "objects"), join(directory, "refs")]) {
    await makeDirectory(path, 0o755);
    await chmod(path, 0o755);
  }
  const files = { HEAD: "ref: refs/heads/none\n", config: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n" };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(directory, name), content);
    await chmod(join(directory, name), 0o644);
  }
  return directory;
}
