// Plain JavaScript that runs on Node 20: it is what installs the Node that runs everything else.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BUNDLES, isStale } from "./bundles.mjs";
import { describeTooOld, isNewEnough } from "./node-version.mjs";
import { installPackages } from "./install-packages.mjs";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const POSTGRES = "/usr/lib/postgresql";
/** Written last, beside what npm has noted itself. */
export const STAMP = "node_modules/.turnd-installed";
export const HIDDEN_LOCK = "node_modules/.package-lock.json";

/**
 * Installs what a command lacks: the product's packages, the CLIs of the image, and for tests their other versions and
 * the tools that only tests need. Does nothing where the locks are installed already. Ends the process where it fails.
 *
 * @param {{ isForTests: boolean }} options
 * @returns {Promise<{ hasInstalled: boolean, wasBuilt: boolean }>} whether packages were missing, and whether all that is built was
 * there, as new as its source
 */
export async function installMissing({ isForTests }) {
  // Elsewhere none is installed, and what comes after this runs on the Node that runs this.
  if (!isForHere({ os: ["linux"], cpu: ["x64"] }) && !isNewEnough()) {
    console.error(describeTooOld("install one, or put it first on PATH"));
    process.exit(1);
  }
  const folders = [".", "sandbox", ...(isForTests ? ["sandbox/versions", "test/pins"] : [])];
  const missing = folders.filter((folder) => !isInstalled(join(ROOT, folder)));
  if (missing.length > 0) await installPackages(missing);
  if (isForTests && !hasPostgres()) installPostgres();
  const stale = BUNDLES.filter((bundle) => isStale(bundle));
  if (missing.length > 0 && stale.length > 0) console.error("turnd: building turnd, its page and svc …");
  for (const bundle of stale) makeBundle(bundle);
  return { hasInstalled: missing.length > 0, wasBuilt: stale.length === 0 };
}

/** Without it what is in `bin/` runs the source, more slowly, and `GET /` says that there is no page: no reason to fail. */
function makeBundle({ script }) {
  const node = join(ROOT, "node_modules/.bin/node");
  spawnSync(existsSync(node) ? node : "node", [join(ROOT, script)], { stdio: ["ignore", 2, 2] });
}

/** Whether the programs are where Debian puts them; the tests of the agent service start a cluster of their own. */
function hasPostgres() {
  const versions = existsSync(POSTGRES) ? readdirSync(POSTGRES) : [];
  return versions.some((version) => existsSync(join(POSTGRES, version, "bin/initdb")));
}

/** Where it cannot be had, the tests that need it say so and fail. */
function installPostgres() {
  if (process.getuid?.() !== 0 || !existsSync("/usr/bin/apt-get")) {
    console.error(
      "turnd: no PostgreSQL below /usr/lib/postgresql: the tests of the agent service need one (apt-get install postgresql)",
    );
    return;
  }
  console.error("turnd: installing Debian's postgresql for the tests …");
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = (...args) => spawnSync("apt-get", args, { env, stdio: ["ignore", 2, 2] }).status === 0;
  if (run("update") && run("install", "-y", "--no-install-recommends", "postgresql")) return;
  console.error("turnd: postgresql could not be installed");
  process.exit(1);
}

/**
 * Whether what a lock wants is installed beside it.
 *
 * @param {string} directory one that holds a package-lock.json
 */
export function isInstalled(directory) {
  if (!existsSync(join(directory, HIDDEN_LOCK))) return false;
  const lock = readFileSync(join(directory, "package-lock.json"));
  const stamp = join(directory, STAMP);
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === hash(lock)) return true;
  return holdsAll(directory, JSON.parse(String(lock)).packages);
}

/**
 * Whether another command, such as a plain `npm ci`, has installed the lock. What npm has noted is not enough: it notes what
 * `npm install --package-lock-only` has only locked too, a changed version included.
 */
function holdsAll(directory, locked) {
  const hidden = JSON.parse(readFileSync(join(directory, HIDDEN_LOCK), "utf8")).packages;
  return Object.entries(locked).every(([path, entry]) => {
    if (path === "") return true;
    if (hidden[path] === undefined) return entry.optional && !isForHere(entry);
    const manifest = join(directory, path, "package.json");
    return existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === entry.version;
  });
}

function isForHere({ os, cpu }) {
  return os !== undefined && os.includes(process.platform) && (cpu?.includes(process.arch) ?? true);
}

/** Notes that the lock beside it is installed whole. */
export function markInstalled(directory) {
  writeFileSync(join(directory, STAMP), hash(readFileSync(join(directory, "package-lock.json"))));
}

function hash(bytes) {
  return createHash("sha256").update(bytes).digest("hex");
}
