import type { FastifyInstance } from "fastify";
import type { Auth } from "../../../src/service/auth/auth.ts";
import type { Caller } from "../../../src/service/auth/caller.ts";
import { createTokens } from "../../../src/service/auth/jwt.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { JWT_SECRET, makeDepartment, makeUser, testAuth, uidOf } from "./auth.ts";
import { testApp, type AppOverrides } from "./app.ts";
import { testKnowledge } from "./knowledge.ts";
import type { Person } from "./person.ts";

/** An app with people of each kind: `manager` is an admin of the owner's department, `admin` one of another, `key` the owner's key. */
export async function appWithPeople(
  storage: Storage,
  overrides: AppOverrides = {},
): Promise<{
  app: FastifyInstance;
  auth: Auth;
  owner: Person;
  other: Person;
  admin: Person;
  manager: Person;
  superadmin: Person;
  key: Person;
  keyId: number;
  makePerson(role: Caller["role"]): Promise<Person>;
}> {
  const auth = testAuth(storage);
  const tokens = createTokens(JWT_SECRET, 600_000);
  const person = async (role: Caller["role"], departmentId: number | null = null): Promise<Person> => {
    const { caller } = await makeUser(storage, { role, departmentId });
    return { caller, token: await tokens.sign({ uid: await uidOf(storage, caller.userId), epoch: 1 }) };
  };
  const { knowledge } = await testKnowledge(storage);
  const departmentId = await makeDepartment(storage);
  const owner = await person("user", departmentId);
  const made = await auth.keys.create(
    { caller: owner.caller, ip: "127.0.0.1" },
    { userId: owner.caller.userId, requestId: "key-of-owner", name: "k", expiresAt: null, source: "api" },
  );
  return {
    app: await testApp(storage, { auth, knowledge, ...overrides }),
    auth,
    owner,
    other: await person("user"),
    admin: await person("admin", await makeDepartment(storage)),
    manager: await person("admin", departmentId),
    superadmin: await person("superadmin"),
    key: { caller: owner.caller, token: made.secret },
    keyId: made.api_key.id,
    makePerson: (role) => person(role),
  };
}
