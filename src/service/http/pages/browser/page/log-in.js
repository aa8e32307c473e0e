import { inputById } from "./elements.js";
import { call, useToken } from "./service.js";

/** @typedef {import("zod").z.infer<typeof import("../../../../protocol/auth.ts").Token>} Token */

/** Logs in with what the form holds, and empties its password. @returns the token, and who that is */
export async function logInByForm() {
  const body = { username: inputById("username").value, password: inputById("password").value };
  /** @type {Token} */
  const answer = await call("POST", "/api/auth/token", body);
  inputById("password").value = "";
  useToken(answer.access_token);
  return answer;
}
