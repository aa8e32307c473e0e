import type { FastifyInstance } from "fastify";
import type { Auth } from "../../../src/service/auth/auth.ts";
import type { Caller } from "../../../src/service/auth/caller.ts";
import { createTokens } from "../../../src/service/auth/jwt.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { makeUser, testAuth } from "./auth.ts";
import { testApp } from "./app.ts";

const JWT_SECRET = "test-jwt-secret-0123456789abcdefghij";

/** Someone who calls, with what they call with. */
export interface Person {
  readonly caller: Caller;
  readonly token: string;
}

/** An app with people of each kind. `key` is the owner's key. */
export async function appWithPeople(storage: Storage): Promise<{
  app: FastifyInstance;
  auth: Auth;
  owner: Person;
  other: Person;
  admin: Person;
  superadmin: Person;
  key: Person;
  keyId: number;
}> {
  const auth = testAuth(storage);
  const tokens = createTokens(JWT_SECRET, 600_000);
  const person = async (role: Caller["role"]): Promise<Person> => {
    const { caller } = await makeUser(storage, { role });
    return { caller, token: await tokens.sign({ userId: caller.userId, epoch: 1 }) };
  };
  const owner = await person("user");
  const made = await auth.keys.create(
    { caller: owner.caller, ip: "127.0.0.1" },
    { userId: owner.caller.userId, requestId: "key-of-owner", name: "k", expiresAt: null, source: "api" },
  );
  return {
    app: await testApp(storage, { auth }),
    auth,
    owner,
    other: await person("user"),
    admin: await person("admin"),
    superadmin: await person("superadmin"),
    key: { caller: owner.caller, token: made.secret },
    keyId: made.api_key.id,
  };
}
