import { chmod, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../storage/directories.ts";

const DIRECTORIES = ["objects", "refs"];
const FILES = {
  HEAD: "ref: refs/heads/none\n",
  config: "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
};

/** Where it is. */
export function gitDirectoryIn(stateDirectory: string): string {
  return join(stateDirectory, "git");
}

/**
 * Makes what git takes for `.git` when it reads a workspace: a repository with nothing in it, of turnd's own. The CLIs' user
 * can read it and change nothing, so no tool decides what git runs. One that is whole stays: on a full disk another could
 * not be written.
 *
 * @throws the system's error
 */
export async function makeGitDirectory(directory: string): Promise<void> {
  if (await isWhole(directory)) return;
  await rm(directory, { recursive: true, force: true });
  for (const path of [directory, ...DIRECTORIES.map((name) => join(directory, name))]) {
    await makeDirectory(path, 0o755);
    await chmod(path, 0o755);
  }
  for (const [name, content] of Object.entries(FILES)) {
    await writeFile(join(directory, name), content);
    await chmod(join(directory, name), 0o644);
  }
}

async function isWhole(directory: string): Promise<boolean> {
  try {
    const names = await readdir(directory, { recursive: true });
    const contents = await Promise.all(Object.keys(FILES).map((name) => readFile(join(directory, name), "utf8")));
    return (
      names.toSorted().join() === [...Object.keys(FILES), ...DIRECTORIES].toSorted().join() &&
      contents.join() === Object.values(FILES).join()
    );
  } catch {
    // What cannot be read is made anew, and that says what is wrong.
    return false;
  }
}
