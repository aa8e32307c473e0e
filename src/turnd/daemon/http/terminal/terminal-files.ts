import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

/** A file of the terminal's page. */
export interface TerminalFile {
  readonly path: string;
  readonly contentType: string;
  readonly bytes: Buffer;
}

const SCRIPT = "text/javascript; charset=utf-8";
const STYLE = "text/css; charset=utf-8";

/** Files of this repository, by the path they are served at. */
const PAGE: readonly (readonly [path: string, file: string, contentType: string])[] = [
  ["/terminal", "index.html", "text/html; charset=utf-8"],
  ["/terminal/terminal.js", "terminal.js", SCRIPT],
  ["/terminal/connection.js", "connection.js", SCRIPT],
  ["/terminal/keys.js", "keys.js", SCRIPT],
  ["/terminal/login.js", "login.js", SCRIPT],
  ["/terminal/terminal.css", "terminal.css", STYLE],
];

/** Files of xterm.js, where its packages are installed: beside the sources and beside the bundle. */
const PACKAGED: readonly (readonly [path: string, file: string, contentType: string])[] = [
  ["/terminal/xterm.mjs", "@xterm/xterm/lib/xterm.mjs", SCRIPT],
  ["/terminal/addon-fit.mjs", "@xterm/addon-fit/lib/addon-fit.mjs", SCRIPT],
  ["/terminal/addon-unicode11.mjs", "@xterm/addon-unicode11/lib/addon-unicode11.mjs", SCRIPT],
  ["/terminal/xterm.css", "@xterm/xterm/css/xterm.css", STYLE],
];

/** Reads the page once: a missing file is found at the start. */
export async function readTerminalFiles(pageDirectory: string): Promise<TerminalFile[]> {
  const read = async (path: string, contentType: string, file: string): Promise<TerminalFile> => ({
    path,
    contentType,
    bytes: await readFile(file),
  });
  const { resolve } = createRequire(import.meta.url);
  return Promise.all([
    ...PAGE.map(([path, file, contentType]) => read(path, contentType, join(pageDirectory, file))),
    ...PACKAGED.map(([path, file, contentType]) => read(path, contentType, resolve(file))),
  ]);
}
