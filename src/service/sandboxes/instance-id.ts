import { randomUUID } from "node:crypto";
import { z } from "zod";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";

const KEY = "instance_id";

/** Names this service, whichever of its processes asks: what an engine carries is labelled with it. Made at the first call. */
export async function readInstanceId(storage: Storage): Promise<string> {
  await storage.db
    .insertInto("instance")
    .values({ key: KEY, value: json(randomUUID()) })
    .onConflict((conflict) => conflict.column("key").doNothing())
    .execute();
  const { value } = await storage.db
    .selectFrom("instance")
    .select("value")
    .where("key", "=", KEY)
    .executeTakeFirstOrThrow();
  return z.uuid().parse(value);
}
