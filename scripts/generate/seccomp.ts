import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

const ROOT = dirname(dirname(import.meta.dirname));
const DOCKERS = join(ROOT, "sandbox/seccomp.json");
const KUBERNETES = join(ROOT, "sandbox/deploy/seccomp-kubernetes.json");

const Condition = z.object({ caps: z.array(z.string()).optional(), arches: z.array(z.string()).optional() });
const Rule = z.object({
  names: z.array(z.string()),
  action: z.string(),
  args: z.array(z.unknown()).nullish(),
  errnoRet: z.number().optional(),
  includes: Condition.nullish(),
  excludes: Condition.nullish(),
});
const Profile = z.object({
  defaultAction: z.string(),
  defaultErrnoRet: z.number().optional(),
  syscalls: z.array(Rule),
});

/** What the manifest lets the container have, of those that a rule names. */
const CAPABILITIES = new Set<string>();
/** What the CLIs are built for. A name that a kernel does not have is skipped. */
const ARCHES = new Set(["amd64", "x32", "x86", "arm64", "arm"]);
const ARCHITECTURES = [
  "SCMP_ARCH_X86_64",
  "SCMP_ARCH_X86",
  "SCMP_ARCH_X32",
  "SCMP_ARCH_AARCH64",
  "SCMP_ARCH_ARM",
] as const;

/**
 * Writes Docker's profile as container runtimes of Kubernetes read it.
 *
 * containerd takes the runtime specification's form, which has no conditions: it would ignore `includes` and `excludes`, and allow
 * every system call that Docker ties to a capability. So the conditions are decided here, for the manifest's container.
 * @returns the profile as JSON
 */
export async function renderKubernetesProfile(): Promise<string> {
  const profile = Profile.parse(JSON.parse(await readFile(DOCKERS, "utf8")));
  const syscalls = profile.syscalls.filter(isMet).map(({ names, action, args, errnoRet }) => ({
    names,
    action,
    ...(args === null || args === undefined || args.length === 0 ? {} : { args }),
    ...(errnoRet === undefined ? {} : { errnoRet }),
  }));
  const { defaultAction, defaultErrnoRet } = profile;
  const rendered = {
    defaultAction,
    ...(defaultErrnoRet === undefined ? {} : { defaultErrnoRet }),
    architectures: ARCHITECTURES,
    syscalls,
  };
  return `${JSON.stringify(rendered, undefined, 2)}\n`;
}

function isMet({ includes, excludes }: z.infer<typeof Rule>): boolean {
  const isNamed = (wanted: readonly string[] | undefined, have: ReadonlySet<string>): boolean =>
    wanted?.some((name) => have.has(name)) === true;
  if (includes?.caps !== undefined && !isNamed(includes.caps, CAPABILITIES)) return false;
  if (includes?.arches !== undefined && !isNamed(includes.arches, ARCHES)) return false;
  return !isNamed(excludes?.caps, CAPABILITIES) && !isNamed(excludes?.arches, ARCHES);
}

if (import.meta.main) await writeFile(KUBERNETES, await renderKubernetesProfile());
