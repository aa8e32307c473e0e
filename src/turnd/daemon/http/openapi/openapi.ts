import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { Documentation, DocumentedRoutes } from "./describe-routes.ts";

export interface DocsOptions extends Pick<DocumentedRoutes, "version" | "executors" | "aliases"> {
  /** Makes the app that serves the page: another one, which is not to listen. */
  readonly createBareApp: () => FastifyInstance;
}

/** The description holds no secret, and who writes a client has no token yet. */
const open = { config: { isPublic: true }, schema: { hide: true } };

/**
 * Serves the description of an app at `/openapi.json` and as a page at `/docs`. Must be registered before the routes it
 * describes.
 *
 * What makes them is loaded and run when the first client asks: it would be half of a start, and tens of megabytes.
 */
export function registerDocs(app: FastifyInstance, { createBareApp, ...documented }: DocsOptions): void {
  const routes: RouteOptions[] = [];
  app.addHook("onRoute", (route) => void routes.push(route));
  let made: Promise<Documentation> | undefined;
  let text: string | undefined;
  const describe = (): Promise<Documentation> => {
    made ??= import("./describe-routes.ts").then(({ describeRoutes }) =>
      describeRoutes(createBareApp(), { ...documented, routes }),
    );
    return made;
  };
  app.addHook("onClose", async () => {
    const documentation = await made?.catch(() => undefined);
    await documentation?.app.close();
  });
  app.get("/openapi.json", open, async (_request, reply) => {
    // Rendered once: rendering takes longer than the rest of the request.
    text ??= JSON.stringify((await describe()).document);
    return reply.type("application/json; charset=utf-8").send(text);
  });
  async function servePage(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const documentation = await describe();
    reply.hijack();
    // What the hooks of this app have set, such as for pages of other origins.
    for (const [name, value] of Object.entries(reply.getHeaders())) {
      if (value !== undefined) reply.raw.setHeader(name, value);
    }
    documentation.app.routing(request.raw, reply.raw);
  }
  app.get("/docs", open, servePage);
  app.get("/docs/*", open, servePage);
}
