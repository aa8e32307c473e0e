import { builtinModules } from "node:module";
import type { OnLoadArgs, Plugin } from "esbuild";

const BY_NAME = "node-by-name";
const WHOLE = "node-whole";
/** Large, and no turnd that starts needs one of them: packages ask for them at their top, before anything calls them. */
const WHEN_USED = new Set(["assert", "cluster", "dns", "http2", "https", "tls", "zlib"]);
const IDENTIFIER = /^[A-Za-z_]\w*$/;
const FUNCTION = /^[a-z]/;

/**
 * Loads of Node's modules only what is used, and the large ones when they are used.
 *
 * An import of `node:http` reads every property of it, and so loads undici. What is asked for by a call does not.
 */
export function builtinsAsNeeded(): Plugin {
  const names = new Set(builtinModules);
  return {
    name: "builtins-as-needed",
    setup(building) {
      building.onResolve({ filter: /^(node:)?[a-z_\d]+(\/[a-z]+)?$/ }, ({ path, kind, importer }) => {
        const name = path.replace(/^node:/, "");
        if (kind === "dynamic-import" || (!path.startsWith("node:") && !names.has(name))) return undefined;
        const isImport = kind === "import-statement";
        // Its importer's own: what many share would be a part of its own, a file to be found and read.
        return { path: `${name} for ${importer}`, namespace: isImport ? BY_NAME : WHOLE, sideEffects: !isImport };
      });
      building.onLoad({ filter: /.*/, namespace: BY_NAME }, (asked) => ({
        contents: byName(nameOf(asked)),
        loader: "js",
      }));
      building.onLoad({ filter: /.*/, namespace: WHOLE }, (asked) => ({
        contents: whole(nameOf(asked)),
        loader: "js",
      }));
    },
  };
}

/** Of the module that a stand-in is for. */
function nameOf({ path }: OnLoadArgs): string {
  return path.slice(0, path.indexOf(" "));
}

/** For `import`: each name by itself, so that those which no file uses are left out, and not read. */
function byName(name: string): string {
  const exported = namesOf(name).map(([key, isFunction]) => {
    const isLate = isFunction && WHEN_USED.has(name);
    const read = isLate ? `(...args) => ${ask(name)}.${key}(...args)` : `/* @__PURE__ */ (() => ${ask(name)}.${key})()`;
    return `const own_${key} = ${read};\nexport { own_${key} as ${key} };`;
  });
  const all = WHEN_USED.has(name) ? standIn(name) : ask(name);
  return [`const all = /* @__PURE__ */ (() => ${all})();\nexport default all;`, ...exported].join("\n");
}

/** For `require`. */
function whole(name: string): string {
  return `module.exports = ${WHEN_USED.has(name) ? standIn(name) : ask(name)};`;
}

/** What stands for a module until it is used; taking a function from it is no use. */
function standIn(name: string): string {
  const functions = namesOf(name).flatMap(([key, isFunction]) => (isFunction ? key : []));
  // Packages check with it what they are given: it loads much to describe what fails, and nothing has failed.
  const isHeld = name === "assert" ? "if (args[0]) return undefined;" : "";
  return `((late) => new Proxy(() => undefined, {
  get: (_, key) => late.has(key) ? (...args) => ${ask(name)}[key](...args) : ${ask(name)}[key],
  has: (_, key) => key in ${ask(name)},
  apply(_, self, args) { ${isHeld} return Reflect.apply(${ask(name)}, self, args); },
}))(new Set(${JSON.stringify(functions)}))`;
}

/** What a module exports, and whether it is a function that is called as it is. */
function namesOf(name: string): [key: string, isFunction: boolean][] {
  return Object.entries(process.getBuiltinModule(`node:${name}`) ?? {})
    .filter(([key]) => IDENTIFIER.test(key) && key !== "default")
    .map(([key, value]) => [key, FUNCTION.test(key) && typeof value === "function"]);
}

function ask(name: string): string {
  return `process.getBuiltinModule(${JSON.stringify(`node:${name}`)})`;
}
