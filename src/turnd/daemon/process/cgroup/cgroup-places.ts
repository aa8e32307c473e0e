import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { hasCode, makeGroup, readMembers, removeGroup } from "./cgroup-files.ts";

/** The group of turnd and its keepers in version 2, where a group with groups below it may hold no process itself. */
export const LEAF = "turnd.leaf";

/** Controllers that a turn's limits need. */
export const CONTROLLERS = ["pids", "memory"] as const;

/** A control group below which turnd may make others. @see cgroups(7) */
export interface GroupPlace {
  readonly version: 1 | 2;
  /** turnd's own group, as a directory; in version 2 the one above `LEAF`. */
  readonly directory: string;
  /** Whether it is the root of a control group namespace: then every process in it belongs to turnd's container. */
  readonly isWhole: boolean;
}

/** Control groups cannot be used here. The message says why, as half a sentence. */
export class GroupsUnusableError extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options);
    this.name = "GroupsUnusableError";
  }
}

/** What the kernel reports of the mounts and of this process. */
export interface GroupFacts {
  /** /proc/self/mountinfo */
  readonly mounts: string;
  /** /proc/self/cgroup */
  readonly own: string;
}

/**
 * Finds where turnd may make groups with all of these controllers, and tries it with an empty group.
 *
 * Leaves nothing behind.
 * @throws {GroupsUnusableError}
 */
export function findGroupPlaces(controllers: readonly string[] = CONTROLLERS): readonly GroupPlace[] {
  const places = locateOwnGroups(controllers);
  for (const place of places) assertUsable(place, controllers);
  return places;
}

/** Finds the directories for this process, and tries nothing. @throws {GroupsUnusableError} */
export function locateOwnGroups(controllers: readonly string[]): readonly GroupPlace[] {
  return locateGroups({ mounts: readFacts("mountinfo"), own: readFacts("cgroup") }, controllers);
}

/**
 * Names the directories of a process's groups: one for version 2, or one for each hierarchy of version 1.
 *
 * @throws {GroupsUnusableError} where no file system mounted here shows them
 */
export function locateGroups({ mounts, own }: GroupFacts, controllers: readonly string[]): readonly GroupPlace[] {
  const groups = own.split("\n").flatMap((line) => {
    const [, names, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    return names === undefined || path === undefined ? [] : [{ names: names.split(","), path }];
  });
  const mounted = mounts.split("\n").flatMap((line) => parseMount(line) ?? []);
  const ofVersion1 = controllers.map((controller) => groups.find(({ names }) => names.includes(controller)));
  if (ofVersion1.every((group) => group !== undefined)) {
    const places = controllers.map((controller, index) =>
      locate(
        mounted.filter(({ type, options }) => type === "cgroup" && options.includes(controller)),
        ofVersion1[index]?.path ?? "/",
        controller,
      ),
    );
    const directories = [...new Set(places.map(({ directory }) => directory))];
    return directories.map((directory) => ({ version: 1, directory, isWhole: false }));
  }
  const unified = groups.find(({ names }) => names.join() === "");
  if (unified === undefined || ofVersion1.some((group) => group !== undefined)) {
    throw new GroupsUnusableError(`no hierarchy of control groups has ${controllers.join(" and ")}`);
  }
  const found = locate(
    mounted.filter(({ type }) => type === "cgroup2"),
    unified.path,
    "cgroup2",
  );
  const isInLeaf = basename(unified.path) === LEAF;
  const path = isInLeaf ? dirname(unified.path) : unified.path;
  return [{ version: 2, directory: isInLeaf ? dirname(found.directory) : found.directory, isWhole: path === "/" }];
}

interface Mount {
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** @see proc(5), mountinfo */
function parseMount(line: string): Mount | undefined {
  const [before, after] = line.split(" - ");
  const [, , , root, point] = before?.split(" ") ?? [];
  const [type, , options] = after?.split(" ") ?? [];
  if (root === undefined || point === undefined || type === undefined || !type.startsWith("cgroup")) return undefined;
  return { root: unescape(root), point: unescape(point), type, options: options?.split(",") ?? [] };
}

function unescape(path: string): string {
  return path.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)));
}

/** The last one mounted hides the others. */
function locate(mounts: readonly Mount[], path: string, name: string): { readonly directory: string } {
  if (mounts.length === 0) throw new GroupsUnusableError(`no file system of control groups is mounted for ${name}`);
  for (const { root, point } of mounts.toReversed()) {
    const below = relative(root, path);
    if (below !== ".." && !below.startsWith("../")) return { directory: join(point, below) };
  }
  throw new GroupsUnusableError(`turnd's own group ${path} is not among the mounted ones of ${name}`);
}

function assertUsable(place: GroupPlace, controllers: readonly string[]): void {
  const { version, directory } = place;
  const trial = join(directory, `turnd-trial-${process.pid}`);
  try {
    assertOwn(directory, version);
    if (version === 2) {
      const offered = readFileSync(join(directory, "cgroup.controllers"), "utf8").trim().split(" ");
      const missing = controllers.filter((controller) => !offered.includes(controller));
      if (missing.length > 0)
        throw new GroupsUnusableError(`${directory} lacks the controllers ${missing.join(" and ")}`);
    }
    if (mustBeLeft(place)) assertAlone(place);
    // A group that a turnd with the same pid could not remove serves as well.
    makeGroup(trial);
    removeGroup(trial);
  } catch (error) {
    throw toUnusable(error, directory);
  }
}

/**
 * Whether turnd must leave the group it was started in. Only the root of all groups may hold processes and groups; it
 * has no type.
 */
export function mustBeLeft({ version, directory }: GroupPlace): boolean {
  return version === 2 && existsSync(join(directory, "cgroup.type"));
}

/**
 * Checks that turnd's own group holds no programs that turnd may not move.
 *
 * @throws {GroupsUnusableError}
 */
export function assertAlone({ directory, isWhole }: GroupPlace): void {
  if (isWhole || readMembers(directory).every((pid) => pid === process.pid)) return;
  throw new GroupsUnusableError(`other programs run in ${directory}, the group that turnd was started in`);
}

/**
 * Checks that only turnd's user can change a group: another user could remove turnd's groups or lift their limits.
 *
 * @throws {GroupsUnusableError}
 */
export function assertOnlyOwn(directory: string): void {
  const { uid, mode } = statSync(directory);
  if (uid === process.getuid?.() && (mode & 0o022) === 0) return;
  throw new GroupsUnusableError(`${directory} can be changed by users other than turnd's`);
}

function assertOwn(directory: string, version: 1 | 2): void {
  assertOnlyOwn(directory);
  const groups = version === 1 ? [directory] : [directory, join(directory, LEAF)];
  if (!groups.some((group) => readMembers(group).includes(process.pid))) {
    throw new GroupsUnusableError(`${directory} is not the group that turnd runs in`);
  }
}

/** @param directory - where the step failed */
export function toUnusable(error: unknown, directory: string): unknown {
  if (error instanceof GroupsUnusableError || !(error instanceof Error && "code" in error)) return error;
  const why = hasCode(error, "EROFS") ? "is read-only" : `cannot be used (${String(error.code)})`;
  return new GroupsUnusableError(`${directory} ${why}`, { cause: error });
}

function readFacts(name: "mountinfo" | "cgroup"): string {
  try {
    return readFileSync(`/proc/self/${name}`, "utf8");
  } catch (error) {
    throw new GroupsUnusableError(`/proc/self/${name} cannot be read`, { cause: error });
  }
}
