import type { FastifyInstance } from "fastify";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;

/** A route as the app itself has it. */
export interface AppRoute {
  readonly method: (typeof METHODS)[number];
  /** With `{parameters}`, as the description of the API writes them. */
  readonly path: string;
}

/** Every route of an app, read from its own tree: none can be left out. Those of files below `/docs` are the library's. */
export async function routesOf(app: FastifyInstance): Promise<readonly AppRoute[]> {
  await app.ready();
  const above: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split("\n")
    .flatMap((line) => {
      const [, margin = "", part = "", methods = ""] = /^([│├└─\s]*[├└]── )(\S*) \(([A-Z, ]+)\)$/.exec(line) ?? [];
      if (margin === "") {
        if (line.trim() === "") return [];
        throw new Error(`not a line of a route: ${line}`);
      }
      const depth = margin.length / 4;
      const path = (above[depth - 2] ?? "") + part;
      above.splice(depth - 1, Infinity, path);
      if (path.includes("*")) return [];
      const known = METHODS.filter((method) => methods.split(", ").includes(method));
      return known.map((method) => ({ method, path: path.replaceAll(/:(\w+)/g, "{$1}") }));
    });
}
