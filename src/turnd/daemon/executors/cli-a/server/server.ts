import { z } from "zod";
import type { Greeting, InteractiveExecutor } from "../../contract/interactive.ts";
import { variableOf } from "../../contract/binary-names.ts";
import { parseJson } from "../../contract/json-line.ts";
import { BUILT_AS, readDetails } from "../config/details.ts";
import { KEY_VARIABLE, keyOf } from "../config/provider-key.ts";
import { createConversation } from "./conversation.ts";

const Reply = z.object({
  id: z.string(),
  status: z.number().optional(),
  body: z.object({ version: z.string().optional(), isAdopted: z.boolean().optional() }).optional().catch(undefined),
  error: z.string().optional(),
});

const greetingId = (epoch: string): string => `${epoch}:0:greeting`;
const ASIDE = /^\{"at":\d+,"id":"[a-z0-9]+:\d+:(?:greeting|ping)",/;
const PONG_START = /^\{"at":\d+,"id":/;
/** A turn has begun. What comes late of the one before says something else. */
const BUSY = /^\{"at":\d+,"event":\{.*"type":"session\.status",.*"status":\{"type":"(?:busy|retry)"/;

/** CLI A's server, which a relay of turnd's asks over HTTP. */
export const SERVER: InteractiveExecutor = {
  versions: ["1.18.33"],
  isRelayed: true,
  isLarge: true,
  findObstacle(configuration) {
    // Its keys stand in the file, which the server's tools can read.
    return readDetails(configuration).source === "variables"
      ? undefined
      : "its configuration is given as a whole (CLI_A_JSON)";
  },
  buildServerArgs: () => ["serve", "--port=0", "--hostname=127.0.0.1", "--print-logs", "--log-level=ERROR"],
  listKeyNames: () => [],
  stickySettings: () => "",
  greet: (epoch, { configuration, workspace }) => {
    const directory = `?directory=${encodeURIComponent(workspace)}`;
    const start = {
      secrets: { [KEY_VARIABLE]: keyOf(configuration) },
      password: variableOf(BUILT_AS, "SERVER_PASSWORD"),
      user: BUILT_AS,
      lists: { permission: `/permission${directory}`, question: `/question${directory}` },
    };
    return [JSON.stringify({ id: greetingId(epoch), start })];
  },
  readGreeting(line, epoch): Greeting | undefined {
    const { data } = Reply.safeParse(parseJson(line));
    if (data === undefined || data.id !== greetingId(epoch)) return undefined;
    const { status, body, error } = data;
    if (status !== 200) return { ok: false, reason: error ?? `it answered with status ${status}` };
    const version = body?.version;
    return { ok: true, isAdopted: body?.isAdopted === true, ...(version === undefined ? {} : { version }) };
  },
  ping: (id) => JSON.stringify({ id, ping: true }),
  isPong: (line, id) => PONG_START.test(line) && line.includes(`"id":${JSON.stringify(id)},"status":200`),
  isAside: (line) => ASIDE.test(line),
  isUnasked: (line) => BUSY.test(line),
  createConversation,
};
