import { join } from "node:path";
import { transform, type Plugin } from "esbuild";

/** How the parameters of a part are called; src/turnd/loading/load-part.ts gives them. */
const PARAMETERS = ["exports", "require", "module", "partUrl", "partDirectory"];
const LOADER = "src/turnd/loading/load-part.ts";

/**
 * Makes a part of a module that esbuild has made: a script that is one function, in ASCII.
 *
 * Of a script V8 keeps what it has compiled while that ran; of a module only what it compiles before.
 * @throws for what a script cannot have
 */
export async function toPart(module: string): Promise<string> {
  const { code, warnings } = await transform(module, {
    format: "cjs",
    platform: "node",
    target: "node22",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "inline",
    // They become calls of `require`, which loads a part.
    supported: { "dynamic-import": false },
    define: { "import.meta.url": "partUrl", "import.meta.dirname": "partDirectory" },
  });
  if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join("\n"));
  // Every module is strict.
  return `(function(${PARAMETERS.join(",")}){"use strict";${code}})\n`;
}

/** Escapes what esbuild has left in regular expressions and comments; strings it has escaped itself. */
export function toAscii(code: string): string {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A part that is loaded by name. */
export interface NamedPart {
  /** Where it is, below the main file. */
  readonly file: string;
  readonly exports: readonly string[];
}

/**
 * Lets a main file load parts where its source imports modules when it runs.
 *
 * @param root - the repository
 * @param parts - by the absolute paths of their sources
 */
export function partsOf(root: string, parts: ReadonlyMap<string, NamedPart>): Plugin {
  return {
    name: "parts",
    setup(building) {
      building.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) =>
        kind === "dynamic-import" ? { path: join(resolveDir, path), namespace: "part" } : undefined,
      );
      building.onLoad({ filter: /.*/, namespace: "part" }, ({ path }) => {
        const part = parts.get(path);
        if (part === undefined) throw new Error(`${path} is no part`);
        const file = `process.getBuiltinModule("node:path").join(import.meta.dirname, ${JSON.stringify(part.file)})`;
        return {
          contents: `import { loadPart } from ${JSON.stringify(join(root, LOADER))};
export const { ${part.exports.join(", ")} } = loadPart(${file});`,
          resolveDir: root,
        };
      });
    },
  };
}
