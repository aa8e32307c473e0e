import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { getCACertificates } from "node:tls";
import { readRegular } from "../../storage/read-regular.ts";
import type { CertificateVariables } from "../../executors/contract/provider-request.ts";

/** Whose certificates are believed, and what a variable names that cannot be. */
export interface Trust {
  /** In PEM. */
  readonly authorities: readonly string[];
  /** One clause for each variable that does not do what it is set for. */
  readonly faults: readonly string[];
}

const CERTIFICATE = /-----BEGIN (TRUSTED )?CERTIFICATE-----[\s\S]+?-----END \1?CERTIFICATE-----/g;

/**
 * Reads the authorities that a CLI believes: the system's, unless a variable names others in their place, and what is added.
 *
 * Node's own list counts too: a CLI brings one along for where the system has none.
 */
export async function readTrust(
  { replacing, adding }: CertificateVariables,
  env: Readonly<Record<string, string>>,
): Promise<Trust> {
  const isReplaced = replacing.some((name) => env[name] !== undefined);
  const read = await Promise.all([...replacing, ...adding].map((name) => readVariable(name, env[name])));
  return {
    authorities: [
      ...getCACertificates("bundled"),
      ...(isReplaced ? [] : getCACertificates("system")),
      ...read.flatMap(({ authorities }) => authorities),
    ],
    faults: read.flatMap(({ faults }) => faults),
  };
}

/** Names of variables that hold directories, separated by colons, end so. */
const DIRECTORIES = /_DIR$/;

async function readVariable(name: string, value: string | undefined): Promise<Trust> {
  if (value === undefined) return { authorities: [], faults: [] };
  try {
    const paths = DIRECTORIES.test(name) ? await listFiles(value) : [value];
    const texts = await Promise.all(paths.map(async (path) => (await readRegular(path)).toString("utf8")));
    const authorities = texts.flatMap((text) => text.match(CERTIFICATE) ?? []);
    return { authorities, faults: authorities.length > 0 ? [] : [`${name} names no certificate in PEM`] };
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    return { authorities: [], faults: [`what ${name} names cannot be read (${String(error.code)})`] };
  }
}

/** Certificates stand there as files, and once more as links that are named by their hash. */
async function listFiles(value: string): Promise<string[]> {
  const directories = value.split(":").filter((path) => path !== "");
  const listed = await Promise.all(
    directories.map(async (directory) => {
      const entries = await readdir(directory, { withFileTypes: true });
      return entries.flatMap((entry) =>
        entry.isFile() || entry.isSymbolicLink() ? [join(directory, entry.name)] : [],
      );
    }),
  );
  return listed.flat();
}
