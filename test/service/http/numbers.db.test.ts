import { expect, test } from "vitest";
import { call } from "../harness/app.ts";
import { appWithPeople } from "../harness/people.ts";
import { shareStorage } from "../harness/storage.ts";

/** What JavaScript reads as the number 1. */
const OTHERS_OF_ONE = ["0x1", "1e0", "%201", "1%20", "%2B1", "01", "1.0", "0b1", "%EF%BC%91"];

const storage = shareStorage("postgres");

test("an id or a number in a path or a query has one form, its digits", async () => {
  const { app, superadmin } = await appWithPeople(storage());
  const ask = async (url: string) => (await call(app, "GET", url, undefined, superadmin)).status;
  const places = [
    (number: string) => `/api/auth/users/${number}`,
    (number: string) => `/api/auth/users?limit=${number}`,
    (number: string) => `/api/usage?user_id=${number}`,
    (number: string) => `/api/audit?before=${number}`,
  ];
  for (const place of places) {
    expect([place("1"), await ask(place("1"))]).toEqual([place("1"), 200]);
    for (const number of [...OTHERS_OF_ONE, ""]) {
      if (place(number).endsWith("/")) continue;
      expect([place(number), await ask(place(number))]).toEqual([place(number), 422]);
    }
  }
});

test("a number that is larger than a number can be is refused with its place, not kept as null", async () => {
  const { app, superadmin } = await appWithPeople(storage());
  const answer = await app.inject({
    method: "POST",
    url: "/api/chat/thread",
    headers: { authorization: `Bearer ${superadmin.token}`, "content-type": "application/json" },
    payload: '{"agent_id":"cli-b","metadata":{"kept":1e300,"list":[1,-1e999]}}',
  });
  expect([answer.statusCode, answer.json()]).toMatchObject([
    422,
    { detail: [{ loc: ["body", "metadata", "list", 1], type: "unstorable_number" }] },
  ]);
});
