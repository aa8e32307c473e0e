import type { RouteOptions } from "fastify";
import { MAX_PUBLIC_BODY_VALUES, type BodyLimit } from "../../kit/http/body-limits.ts";
import { TOOLS_PATH } from "../agent-tools/agent-tools.ts";

/** Limits of bodies. Source: the settings `SERVICE_MAX_*BODY_*`. */
export interface BodyLimits {
  /** Where there may be an image, or a batch. */
  readonly long: number;
  readonly plain: number;
  /** Without a credential. */
  readonly public: number;
  /** Values and names in one. */
  readonly values: number;
}

/** What needs more than a plain body. */
const LONG: ReadonlySet<string> = new Set([
  // A text of a megabyte, and images.
  "/api/agent/runs",
  "/api/agent-invocation/agent-call/runs",
  "/api/agent-invocation/eval/runs",
  // Instructions, of 64 KiB by themselves.
  "/api/agents",
  "/api/agents/:slug",
  // A thousand addresses, each three times.
  "/api/knowledge/databases/:kb_id/documents",
  "/api/knowledge/databases/:kb_id/documents/add",
]);

/** Its credential is a run's token, which the route itself reads. */
const OF_RUNS: ReadonlySet<string> = new Set([TOOLS_PATH]);

/** The table from a route to the limit of its bodies. An upload's is that of the file, where it is stored. */
export function createBodyLimits({ long, plain, public: open, values }: BodyLimits) {
  return ({ url, config }: Pick<RouteOptions, "url" | "config">): BodyLimit => {
    if (config?.isPublic === true && !OF_RUNS.has(url)) {
      return { bytes: Math.min(open, plain, long), values: Math.min(values, MAX_PUBLIC_BODY_VALUES) };
    }
    return { bytes: LONG.has(url) ? long : Math.min(plain, long), values };
  };
}
