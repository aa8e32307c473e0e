import { KeyCreated, Token } from "../../../src/service/protocol/auth.ts";
import { expectThat } from "../expect-that.ts";
import { createServiceClient, type ServiceClient } from "./service-client.ts";
import type { ServiceProcess } from "./service-process.ts";

/** Logs in with the password of the file and makes an API key, twice by one request id. @returns the key, and a client with it */
export async function playKey(
  service: ServiceProcess,
  signal: AbortSignal,
): Promise<{ client: ServiceClient; key: string }> {
  const anonymous = createServiceClient(service.url, undefined, signal);
  const { access_token: token, user } = await anonymous.post(Token, "/api/auth/token", {
    username: "admin",
    password: service.password,
  });
  console.log(`  ✓ logged in as ${user.username}, ${user.role}, with the password of the file`);
  const administrator = createServiceClient(service.url, token, signal);
  const intent = { request_id: "demo-key-0001", name: "demo" };
  const first = await administrator.post(KeyCreated, "/api/user/apikey/", intent);
  const second = await administrator.post(KeyCreated, "/api/user/apikey/", intent);
  const isSame = first.secret === second.secret && first.api_key.id === second.api_key.id;
  expectThat(isSame, "the same request_id gives the same key and secret", "another key");
  console.log(`  ✓ the same request_id twice is one key: ${first.api_key.key_prefix}…, and the same secret again`);
  return { client: createServiceClient(service.url, first.secret, signal), key: first.secret };
}
