import { expect, test } from "vitest";
import { describeImage, shareSandbox } from "../harness/sandbox.ts";

describeImage("a started sandbox", () => {
  const sandbox = shareSandbox();

  test("answers on its public port, and without the token only to probes", async () => {
    const { request } = sandbox();
    expect(await request("GET", "/v1/health")).toMatchObject({ status: 200, body: { status: "ok" } });
    expect((await request("GET", "/v1/turns")).status).toBe(200);
    const stranger = { authorization: "Bearer nobody" };
    expect((await request("GET", "/v1/health", undefined, stranger)).status).toBe(200);
    expect(await request("GET", "/v1/turns", undefined, stranger)).toMatchObject({
      status: 401,
      body: { detail: { code: "unauthorized" } },
    });
  });
});
