import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import {
  CliSession,
  CliSessionBody,
  CliSessionPath,
  CliSessionStarted,
  CliTokenBody,
  KeyCreated,
} from "../../protocol/auth.ts";
import type { Auth } from "../../auth/auth.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["cli"];
const open = { config: { isPublic: true } };

/** Logging a command-line client in: a person approves it in a browser. */
export const cliSessionRoutes: FastifyPluginAsyncZod<{ auth: Auth; publicUrl: () => string }> = async (
  app,
  { auth, publicUrl },
) => {
  const { cliSessions } = auth;

  const start = {
    tags,
    operationId: "startCliSession",
    summary: "Begin to log in",
    description:
      "Show `user_code` and `verification_uri` to the person, then poll the token route every `interval` seconds.",
    security: [],
    body: CliSessionBody,
    response: { 200: CliSessionStarted, ...refusals() },
  };
  app.post("/api/auth/cli/sessions", { ...open, schema: start }, async ({ body, ip }) => {
    const started = await cliSessions.start(body.client_name, ip);
    const page = `${publicUrl()}/cli`;
    return {
      device_code: started.deviceCode,
      user_code: started.userCode,
      verification_uri: page,
      verification_uri_complete: `${page}?code=${started.userCode}`,
      expires_in: started.expiresInSeconds,
      interval: started.intervalSeconds,
    };
  });

  const token = {
    tags,
    operationId: "exchangeCliSession",
    summary: "Exchange an approved login for an API key",
    description:
      "400 `authorization_pending` until the person has decided. A repeat within the time gives the same key.",
    security: [],
    body: CliTokenBody,
    response: {
      200: KeyCreated,
      ...refusals(
        "authorization_pending",
        "slow_down",
        "expired_token",
        "access_denied",
        "key_revoked",
        "master_key_rotated",
      ),
    },
  };
  app.post("/api/auth/cli/sessions/token", { ...open, schema: token }, async ({ body, ip }) =>
    cliSessions.exchange(body.device_code, ip),
  );

  const get = {
    tags,
    operationId: "getCliSession",
    summary: "Look at a login that asks for approval",
    description: "What asks, and from where. Ten wrong codes of an account in a minute: 429.",
    params: CliSessionPath,
    response: { 200: CliSession, ...refusals("cli_session_not_found", "too_many_codes") },
  };
  app.get("/api/auth/cli/sessions/:user_code", { schema: get }, async (request) =>
    cliSessions.get(callerOf(request), request.params.user_code),
  );

  const decide = (text: { operationId: string; summary: string; description: string }) => ({
    tags,
    ...text,
    params: CliSessionPath,
    response: {
      200: CliSession,
      ...refusals("login_required", "cli_session_not_found", "cli_session_decided", "too_many_codes"),
    },
  });
  const approve = decide({
    operationId: "approveCliSession",
    summary: "Approve a login",
    description: "The client then gets a key of the caller's.",
  });
  app.post("/api/auth/cli/sessions/:user_code/approve", { schema: approve }, async (request) =>
    cliSessions.approve(actorOf(request), request.params.user_code),
  );
  const deny = decide({
    operationId: "denyCliSession",
    summary: "Deny a login",
    description: "The client gets `access_denied`.",
  });
  app.post("/api/auth/cli/sessions/:user_code/deny", { schema: deny }, async (request) =>
    cliSessions.deny(actorOf(request), request.params.user_code),
  );
};
