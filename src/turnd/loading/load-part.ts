import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { openCompiledCode, type CompiledCode } from "./compiled-code.ts";
import type { Optimiser } from "./optimiser.ts";

/** Its first answers are compiled by then, and V8 has dropped nothing that the start used. */
const KEEP_AFTER_MS = 2_000;

/** What one part gives to the others. */
interface Part {
  exports: unknown;
}

/** A part that V8 had to compile. */
interface Fresh {
  readonly name: string;
  readonly source: Buffer;
  readonly script: Script;
}

// One program is in a process, as with Node's own modules.
const loaded = new Map<string, Part>();
const fresh: Fresh[] = [];
let compiled: { readonly code: CompiledCode; readonly optimiser: Optimiser } | undefined;

/**
 * Lets parts that are loaded from now on take compiled code from a directory.
 *
 * Node's own cache holds what V8 compiles before a module runs. This holds what a start has called as well, some
 * 1700 functions: 35 ms of it.
 * @returns why it is not used; undefined where it is
 */
export function useCompiledCode(directory: string, optimiser: Optimiser): string | undefined {
  const code = openCompiledCode(directory);
  if (typeof code === "string") return code;
  compiled = { code, optimiser };
  return undefined;
}

/**
 * Keeps what V8 had to compile: in 2 s, or when the process ends before. To be called when turnd has started: what is kept
 * is not made again, so all that a start uses has to be in it.
 *
 * @param onNotKept - told why, where the first that fails ends it: a disk is full, or cannot be written
 */
export function keepCompiledCode(onNotKept: (error: unknown) => void): void {
  // One at a time, so that nothing waits for all. Without unref, with which Node waits for something else first.
  const keepOne = (): void => {
    keepNext(onNotKept);
    if (fresh.length > 0) setImmediate(keepOne);
  };
  setTimeout(keepOne, KEEP_AFTER_MS).unref();
  process.on("exit", () => {
    while (fresh.length > 0) keepNext(onNotKept);
  });
}

function keepNext(onNotKept: (error: unknown) => void): void {
  const next = fresh.shift();
  if (next === undefined || compiled === undefined) return;
  try {
    const { code, optimiser } = compiled;
    code.keep(
      next.name,
      next.source,
      optimiser.asAtStart(() => next.script.createCachedData()),
    );
  } catch (error) {
    fresh.length = 0;
    onNotKept(error);
  }
}

/**
 * Loads a part of the bundle, once, and what it needs.
 *
 * A part is a script that is one function, which `scripts/bundle-parts.ts` makes of a module.
 * @param path - of its file
 * @returns what it exports
 * @throws what it throws
 */
export function loadPart(path: string): unknown {
  const known = loaded.get(path);
  if (known !== undefined) return known.exports;
  const run: unknown = read(path).runInThisContext();
  if (typeof run !== "function") throw new Error(`${path} is no part of turnd's bundle`);
  const part: Part = { exports: {} };
  // Before it runs: parts may need one another.
  loaded.set(path, part);
  try {
    Reflect.apply(run, undefined, [part.exports, requireFor(path), part, pathToFileURL(path).href, dirname(path)]);
  } catch (error) {
    loaded.delete(path);
    throw error;
  }
  return part.exports;
}

function read(path: string): Script {
  const source = readFileSync(path);
  const name = basename(path);
  const kept = compiled?.code.take(name, source);
  const compile = (): Script =>
    // They are ASCII, and take half the memory so.
    new Script(source.toString("latin1"), { filename: path, ...(kept === undefined ? {} : { cachedData: kept }) });
  // V8 takes code only under the flags that it was made with.
  const script = compiled === undefined ? compile() : compiled.optimiser.asAtStart(compile);
  if (compiled !== undefined && script.cachedDataRejected !== false) fresh.push({ name, source, script });
  return script;
}

/** What parts use of Node's `require`: with `./` it names parts. */
interface PartRequire {
  (name: string): unknown;
  resolve(name: string): string;
}

function requireFor(path: string): PartRequire {
  const directory = dirname(path);
  let made: NodeJS.Require | undefined;
  const ofNode = (): NodeJS.Require => (made ??= createRequire(path));
  const take = (name: string): unknown => (name.startsWith("./") ? loadPart(join(directory, name)) : ofNode()(name));
  return Object.assign(take, { resolve: (name: string) => ofNode().resolve(name) });
}
