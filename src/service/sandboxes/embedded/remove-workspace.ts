import { rmdir } from "node:fs/promises";
import { execa } from "execa";

/**
 * Removes a workspace with the rights of the user that wrote it: a link in it leads to nothing that this user could not remove.
 *
 * The directory itself stands in one of ours, so it cannot be another by now, and is removed by us when it is empty.
 * @throws when something in it cannot be removed; what could be is
 */
export async function removeWorkspace(
  path: string,
  owner: { readonly uid: number; readonly gid: number } | undefined,
  signal: AbortSignal,
): Promise<void> {
  const as = { ...owner, cancelSignal: signal, extendEnv: false, env: { PATH: "/usr/bin:/bin" }, cwd: "/" } as const;
  try {
    // Closed directories are opened first; what is not the user's own stays as it is.
    await execa("find", [path, "-type", "d", "!", "-perm", "-700", "-exec", "chmod", "u+rwx", "{}", ";"], {
      ...as,
      reject: false,
    });
    await execa("find", [path, "-mindepth", "1", "-delete"], as);
    await rmdir(path);
  } catch (error) {
    if (!(await isGone(path))) throw error;
  }
}

async function isGone(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    (error: unknown) => error instanceof Error && "code" in error && error.code === "ENOENT",
  );
}
