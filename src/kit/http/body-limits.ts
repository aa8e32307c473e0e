import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Most values and names of a body in JSON, or pairs of a form. */
    maxBodyValues?: number;
  }
}

/** The limits of a body. */
export interface BodyLimit {
  readonly bytes: number;
  readonly values: number;
}

/** Levels of a body; no route needs more than a few. */
export const MAX_BODY_DEPTH = 64;
/** Bodies that come without a credential, and those of paths that no route has. */
export const MAX_PUBLIC_BODY_BYTES = 16_384;
/** A name and a password are six. */
export const MAX_PUBLIC_BODY_VALUES = 1_000;

/** Gives each route that is registered from now on the limit of its bodies. */
export function limitBodies(app: FastifyInstance, limitOf: (route: RouteOptions) => BodyLimit): void {
  app.addHook("onRoute", (route) => {
    const { bytes, values } = limitOf(route);
    route.bodyLimit = bytes;
    route.config = { ...route.config, maxBodyValues: values };
  });
}

/** The limit of a request's body. */
export function bodyLimitOf({ routeOptions }: Pick<FastifyRequest, "routeOptions">): BodyLimit {
  const { bodyLimit: bytes, config } = routeOptions;
  // A path without a route has the limit of public bodies.
  return { bytes, values: config.maxBodyValues ?? MAX_PUBLIC_BODY_VALUES };
}
