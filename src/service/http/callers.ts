import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ApiProblem } from "../protocol/problems.ts";
import type { KnownActor } from "../auth/accounts.ts";
import { addressGroup } from "../auth/address-group.ts";
import type { Caller } from "../auth/caller.ts";
import type { Credentials } from "../auth/credentials.ts";
import { CallCounts } from "./call-counts.ts";
import { createCallLimit } from "./call-limit.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Answered without a credential. */
    isPublic?: boolean;
    /** Counts in no rate limit. */
    isUncounted?: boolean;
  }
  interface FastifyRequest {
    caller: Caller | null;
  }
}

export interface CallersOptions {
  readonly credentials: Credentials;
  /** Calls a minute; 0 is off. */
  readonly perCredential: number;
  readonly perAddress: number;
}

/** Finds out who calls before anything else is read, and limits how often. */
export async function registerCallers(app: FastifyInstance, options: CallersOptions): Promise<void> {
  await app.register(rateLimit, { global: false, store: CallCounts });
  const countCaller = createCallLimit(app, options.perCredential, ({ caller }) => nameCaller(caller));
  const countUnknown = createCallLimit(app, options.perAddress, ({ ip }) => `ip:${addressGroup(ip)}`);

  app.decorateRequest("caller", null);
  app.addHook("onRequest", async (request) => {
    const { config } = request.routeOptions;
    if (config.isUncounted === true) return;
    if (config.isPublic === true || request.is404) return countUnknown(request);
    try {
      request.caller = await options.credentials.authenticate(request.headers.authorization);
    } catch (error) {
      // Guessing counts as calls without a credential.
      if (error instanceof ApiProblem) await countUnknown(request);
      throw error;
    }
    await countCaller(request);
  });
}

/** Who calls; only on routes that are not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === null) throw new Error("a public route has no caller");
  return caller;
}

/** The same with the address the call came from. */
export function actorOf(request: FastifyRequest): KnownActor {
  return { caller: callerOf(request), ip: request.ip };
}

function nameCaller(caller: Caller | null): string {
  if (caller === null) return "none";
  return caller.credential.type === "jwt" ? `user:${caller.userId}` : `key:${caller.credential.id}`;
}
