/** Longest heading within a path, in characters. */
const LENGTH = 120;

/** The headings that stand above a place of a text. */
export interface HeadingPath {
  /** @param line - the heading as written */
  enter(level: number, line: string): void;
  current(): readonly string[];
}

export function createHeadingPath(): HeadingPath {
  let open: readonly { readonly level: number; readonly text: string }[] = [];
  let path: readonly string[] = [];
  return {
    enter(level, line) {
      const text = plainHeading(line);
      open = [...open.filter((above) => above.level < level), ...(text === "" ? [] : [{ level, text }])];
      path = open.map((heading) => heading.text);
    },
    current: () => path,
  };
}

/** The beginning that all paths have in common, as text. */
export function sharedPath(paths: readonly (readonly string[])[]): string {
  const [first = [], ...rest] = paths;
  const length = rest.reduce((shared, path) => {
    const differs = first.slice(0, shared).findIndex((heading, index) => path[index] !== heading);
    return differs === -1 ? shared : differs;
  }, first.length);
  return first.slice(0, length).join(" > ");
}

/** A heading's words, without Markdown's signs. */
function plainHeading(line: string): string {
  return line
    .slice(0, 2_000)
    .replace(/^\s{0,3}#{1,6}(?=\s|$)/, "")
    .replace(/\s#+\s*$/, "")
    .replace(/!?\[([^[\]]{0,300})\]\([^()]{0,1000}\)/g, "$1")
    .replace(/[*`]|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "")
    .replace(/\\([!-/:-@[-`{-~])/g, "$1")
    .trim()
    .slice(0, LENGTH)
    .toWellFormed();
}
