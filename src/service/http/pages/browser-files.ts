import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A file of `browser/`, as it is on disk. */
export interface BrowserFile {
  /** Of its address: `/kb/page.js`. Programs find one another by it. */
  readonly path: string;
  readonly type: string;
  readonly text: string;
}

const DIRECTORY = join(import.meta.dirname, "browser");
const TYPES = [
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
] as const;

/** The programs and styles of the pages. They are checked and formatted as they are served: nothing builds them. */
export async function readBrowserFiles(): Promise<readonly BrowserFile[]> {
  const names = await readdir(DIRECTORY, { recursive: true });
  const files = names.toSorted().flatMap((name) => {
    const type = TYPES.find(([ending]) => name.endsWith(ending))?.[1];
    return type === undefined ? [] : [{ name, type }];
  });
  return Promise.all(
    files.map(async ({ name, type }) => ({
      path: `/${name}`,
      type,
      text: await readFile(join(DIRECTORY, name), "utf8"),
    })),
  );
}
