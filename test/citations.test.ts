import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { EXECUTORS } from "../src/turnd/daemon/executors/registry.ts";

const ROOT = resolve(import.meta.dirname, "..");
const SELF = relative(ROOT, import.meta.filename);

/**
 * A document of this repository and its numbered sections: `docs/contracts/cli-a.md §4, §7`, `ARCHITECTURE.md`. A quoted
 * path without a section is a test's own file name.
 */
const CITATION =
  /(?<![\w./-])((?:docs|sandbox)\/[\w/-]+\.md|ARCHITECTURE\.md|SECURITY\.md|README\.md)(?!")((?:,? §\d+(?:\.\d+)*(?: \(\d\))?)*)/g;

/** How documents outside the repository were cited. */
const FOREIGN =
  /\bDESIGN\b|[Cc]ontracts?,? sections?\b|\bdesign(?:'s)? section\b|(?<!docs\/|\]\()\bcontracts\/[\w-]+\.md/;

const texts = new Map<string, string>();

beforeAll(() => {
  for (const folder of ["src", "test", "scripts", "lab", "sandbox", "docs", "bin", "examples"]) walk(folder);
  for (const file of readdirSync(ROOT, { withFileTypes: true })) if (file.isFile()) take(file.name);
});

function walk(folder: string): void {
  for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== "node_modules") walk(path);
    } else if (entry.isFile()) {
      take(path);
    }
  }
}

function take(path: string): void {
  if (/\.(?:[cm]?[jt]s|md|json|ya?ml|conf|sql|sh)$|^[^.]+$/.test(path))
    texts.set(path, readFileSync(join(ROOT, path), "utf8"));
}

function sectionsOf(document: string): Set<string> {
  const headings = texts.get(document)?.matchAll(/^#{2,4} (\d+(?:\.\d+)*)\. /gm) ?? [];
  return new Set([...headings].map(([, number = ""]) => number));
}

test("every document and section that is cited is in the repository", () => {
  const cited = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(CITATION)].map(([, document = "", sections = ""]) => ({ file, document, sections })),
  );
  const wrong = cited.flatMap(({ file, document, sections }) => {
    if (!texts.has(document)) return [`${file} cites ${document}, which is not there`];
    const there = sectionsOf(document);
    return [...sections.matchAll(/§([\d.]*\d)/g)].flatMap(([, number = ""]) =>
      there.has(number) ? [] : [`${file} cites ${document} §${number}, which is not there`],
    );
  });
  expect(wrong).toEqual([]);
  expect(cited.filter(({ document }) => document.startsWith("docs/contracts/")).length).toBeGreaterThan(100);
});

test("no comment, rule or document cites what is not in the repository", () => {
  const foreign = [...texts].flatMap(([file, text]) =>
    file === SELF
      ? []
      : text.split("\n").flatMap((line, index) => (FOREIGN.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
  );
  expect(foreign).toEqual([]);
});

test("every rule names a recording or a section of a document", () => {
  const forms = EXECUTORS.flatMap(({ id, failureRules }) =>
    failureRules.flatMap(({ rule, seenIn }) => {
      const isFixture = /^cli-\w+(?:-server)?\/[\d.]+\/[\w-]+$/.test(seenIn);
      const [whole] = [...seenIn.matchAll(CITATION)].map(([text]) => text);
      return isFixture || whole === seenIn ? [] : [`${id} ${rule}: ${seenIn}`];
    }),
  );
  expect(forms).toEqual([]);
});

test("every fixture that a contract names is there", () => {
  const missing = [...texts].flatMap(([file, text]) => {
    const cli = /^docs\/contracts\/(cli-\w+)\.md$/.exec(file)?.[1];
    if (cli === undefined) return [];
    const named = new Set([...text.matchAll(/`(\d+\.\d+\.\d+\/[a-z0-9-]+)`/g)].map(([, name = ""]) => name));
    expect(named.size, file).toBeGreaterThan(50);
    const versions = readdirSync(join(ROOT, "fixtures", cli));
    const there = new Set(
      versions.flatMap((version) =>
        readdirSync(join(ROOT, "fixtures", cli, version)).map((name) => `${version}/${name}`),
      ),
    );
    return [...named].filter((name) => !there.has(name)).map((name) => `${file}: ${name}`);
  });
  expect(missing).toEqual([]);
});

test("every link of a document leads to a file, and to a heading where it names one", () => {
  const broken = [...texts].flatMap(([file, text]) =>
    file.endsWith(".md")
      ? [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
          ([link, path = "", heading]) => {
            const target = path === "" ? file : relative(ROOT, resolve(ROOT, dirname(file), path));
            if (heading === undefined || !target.endsWith(".md")) return isThere(target) ? [] : [`${file}: ${link}`];
            return headingsOf(target).has(heading) ? [] : [`${file}: ${link}`];
          },
        )
      : [],
  );
  expect(broken).toEqual([]);
});

/** `Law: log first.`, `(law: log first)`, `Laws: log first and one end.`, also across the lines of a comment. */
const LAW = /\b[Ll]aws?: (.*?)(?:[.);:|]|$)/g;

/** The rows of the tables of laws; a law's name is in the first column. */
function lawRows(architecture: string): string[] {
  const [, section = ""] = /\n## Laws\n([^]*?)\n## /.exec(architecture) ?? [];
  return section.match(/^\| \*\*.*$/gm) ?? [];
}

test("every law is cited by a name that ARCHITECTURE.md lists, none by a number, and each is proved by a test", () => {
  const rows = lawRows(texts.get("ARCHITECTURE.md") ?? "");
  const laws = new Set(rows.map((row) => /\*\*(.+?)\*\*/.exec(row)?.[1]));
  expect(laws.size).toBeGreaterThan(20);
  const cited = [...texts].flatMap(([file, text]) => {
    if (file === SELF || /CHANGELOG|LICENSE/.test(file)) return [];
    const joined = text.replaceAll(/\n\s*(?:\*(?!\/)|\/\/|#)? ?/g, " ").replaceAll(/\s*\*\/|```/g, " ");
    const named = [...joined.matchAll(LAW)].flatMap(([, names = ""]) =>
      names.split(" and ").map((name) => ({ file, name: name.trim() })),
    );
    const numbered = [...joined.matchAll(/\b[Ll]aws? \d+/g)].map(([name]) => ({ file, name }));
    return [...named, ...numbered];
  });
  expect(cited.filter(({ name }) => !laws.has(name))).toEqual([]);
  expect(cited.length).toBeGreaterThan(100);
  expect(rows.filter((row) => !/\| `test\/[^|]+\.test\.ts` +\|$/.test(row))).toEqual([]);
});

test("every path that ARCHITECTURE.md names is there", () => {
  const text = (texts.get("ARCHITECTURE.md") ?? "").replaceAll(/^```[^]*?^```$/gm, "");
  const pathsOf = (words: string): string[] =>
    [...words.matchAll(/`([\w.-]+(?:\/[\w.-]+)*\/?)`/g)].flatMap(([, path = ""]) => (path.includes("/") ? [path] : []));
  const named = text.split("\n").flatMap((line) => {
    // In a table of rooms a path may be relative to the row's room.
    const rooms = ["", ...pathsOf(/^\| (.*?) \|/.exec(line)?.[1] ?? "")];
    return pathsOf(line).map((path) => ({ path, places: rooms.map((room) => join(room, path)) }));
  });
  expect(named.length).toBeGreaterThan(150);
  const bases = ["", "src", "src/turnd", "src/turnd/daemon", "src/service"];
  const missing = named.filter(
    ({ places }) => !places.some((place) => bases.some((base) => isThere(join(base, place)))),
  );
  expect(missing.map(({ path }) => path)).toEqual([]);
});

test("every path from the root that a document names is there", () => {
  const named = documents().flatMap(({ file, lines }) =>
    lines.flatMap((line) =>
      [...line.matchAll(/`((?:src|test|scripts|lab|sandbox|docs|fixtures|examples)\/[\w./-]+)`/g)].map(
        ([, path = ""]) => ({
          file,
          path,
        }),
      ),
    ),
  );
  expect(named.length).toBeGreaterThan(300);
  expect(named.filter(({ path }) => !isThere(path))).toEqual([]);
});

test("lines of prose end at 120 characters", () => {
  const long = documents().flatMap(({ file, lines }) =>
    lines.flatMap((line) => (/^ *(?:\||#)/.test(line) || line.length <= 120 ? [] : [`${file}: ${line}`])),
  );
  expect(long).toEqual([]);
});

/** The documents, line by line, without their blocks of code. */
function documents(): { file: string; lines: string[] }[] {
  return [...texts].flatMap(([file, text]) =>
    file.endsWith(".md") ? [{ file, lines: text.replaceAll(/^ *```[^]*?^ *```$/gm, "").split("\n") }] : [],
  );
}

function isThere(path: string): boolean {
  return existsSync(join(ROOT, path));
}

test("what a document runs of the repository's TypeScript runs with the repository's Node", () => {
  const bare = /(?<!npm exec -- )(?<![-/\w.])node (?:-\S+ )*(?:src|scripts|lab|test|examples)\/\S+\.ts/;
  const own = "export PATH=$PWD/node_modules/.bin:$PATH";
  const found = [...texts].flatMap(([file, text]) =>
    file.endsWith(".md") && !text.includes(own)
      ? text.split("\n").flatMap((line) => (bare.test(line) ? [`${file}: ${line}`] : []))
      : [],
  );
  expect(found).toEqual([]);
});

/** The anchors that GitHub makes of a document's headings. */
function headingsOf(document: string): Set<string> {
  const headings = [...(texts.get(document)?.matchAll(/^#+ (.+)$/gm) ?? [])].map(([, words = ""]) => words);
  return new Set(
    headings.map((words) =>
      words
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
