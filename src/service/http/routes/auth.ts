import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { z } from "zod";
import { InitializeBody, Me, PasswordBody, Token, TokenBody } from "../../protocol/auth.ts";
import { Success } from "../../protocol/common.ts";
import type { Auth } from "../../auth/auth.ts";
import type { IssuedToken } from "../../auth/logins.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["auth"];
const open = { config: { isPublic: true } };

/** Logging in, and who one is. */
export const authRoutes: FastifyPluginAsyncZod<{ auth: Auth }> = async (app, { auth: { accounts, logins } }) => {
  const firstRun = {
    tags,
    operationId: "checkFirstRun",
    summary: "Ask whether the first account is still to be made",
    description: "True until `initialize` has made an account.",
    security: [],
    response: { 200: z.strictObject({ first_run: z.boolean() }).meta({ id: "FirstRun" }), ...refusals() },
  };
  app.get("/api/auth/check-first-run", { ...open, schema: firstRun }, async () => ({
    first_run: await logins.isFirstRun(),
  }));

  const initialize = {
    tags,
    operationId: "initialize",
    summary: "Make the first account, a superadmin",
    description: "Works once, while no account exists. `init_token` is needed where the service was started with one.",
    security: [],
    body: InitializeBody,
    response: { 200: Token, ...refusals("init_token_invalid", "already_initialized", "password_invalid") },
  };
  app.post("/api/auth/initialize", { ...open, schema: initialize }, async ({ body, ip }) =>
    showToken(await logins.initialize(body, ip)),
  );

  const token = {
    tags,
    operationId: "createToken",
    summary: "Log in",
    description: "JSON, or a form as of OAuth2's password grant. Too many failures lock the name at that address: 423.",
    security: [],
    consumes: ["application/json", "application/x-www-form-urlencoded"],
    body: TokenBody,
    response: { 200: Token, ...refusals("invalid_credentials", "login_locked") },
  };
  app.post("/api/auth/token", { ...open, schema: token }, async ({ body, ip }) =>
    showToken(await logins.logIn(body, ip)),
  );

  const me = {
    tags,
    operationId: "getMe",
    summary: "Ask who one is",
    description: "The user, and what the call was made with: a token or a key.",
    response: { 200: Me, ...refusals() },
  };
  app.get("/api/auth/me", { schema: me }, async (request) => {
    const caller = callerOf(request);
    const { credential } = caller;
    return {
      user: await accounts.get(actorOf(request), caller.userId),
      credential:
        credential.type === "jwt" ? { type: credential.type } : { type: credential.type, api_key_id: credential.id },
    };
  });

  const password = {
    tags,
    operationId: "changePassword",
    summary: "Change one's password",
    description: "Ends all tokens given out before.",
    body: PasswordBody,
    response: { 200: Token, ...refusals("invalid_credentials", "password_invalid", "login_locked") },
  };
  app.put("/api/auth/me/password", { schema: password }, async (request) =>
    showToken(await logins.changePassword(actorOf(request), request.body)),
  );

  const logout = {
    tags,
    operationId: "logOut",
    summary: "End all of one's tokens",
    description: "Ends all tokens of the user; keys go on.",
    response: { 200: Success, ...refusals("login_required") },
  };
  app.post("/api/auth/logout", { schema: logout }, async (request) => {
    await logins.logOut(actorOf(request));
    return { success: true as const };
  });
};

function showToken({ token, expiresInSeconds, user }: IssuedToken) {
  return { access_token: token, token_type: "bearer" as const, expires_in: expiresInSeconds, user };
}
