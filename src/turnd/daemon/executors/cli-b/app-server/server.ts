import { z } from "zod";
import type { Greeting, InteractiveExecutor } from "../../contract/interactive.ts";
import { parseJson } from "../../contract/json-line.ts";
import { readDetails } from "../config/details.ts";
import { toPair } from "../config/given-toml.ts";
import { homeOverrides } from "../config/own-home.ts";
import { permissionPairs } from "../config/permission-pairs.ts";
import type { Setting } from "../config/setting.ts";
import { tomlString } from "../config/toml.ts";
import { ALWAYS } from "../config/unasked.ts";
import { createConversation } from "./conversation.ts";
import { INITIALIZE } from "./requests.ts";

/** A steer would cut the answer that is being written, and its text would be lost (measured). */
const FOR_SERVERS: readonly Setting[] = [{ path: "features.instant_interrupt", value: false }];

const Reply = z.object({
  id: z.string(),
  result: z.object({ userAgent: z.string() }).optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** The version stands in the name by which it calls itself: `turnd/0.171.0 (…)`. */
const VERSION = /^[^/\s]+\/(\d+\.\d+\.\d+\S*)/;

/** A result comes behind its id, an error before it. */
const ASIDE = /^\{"id":"[a-z0-9]+:\d+:(?:greeting|ping)",|^\{"error":\{.*\},"id":"[a-z0-9]+:\d+:(?:greeting|ping)"\}$/;

const greetingId = (epoch: string): string => `${epoch}:0:greeting`;

/** CLI B's app server. */
export const APP_SERVER: InteractiveExecutor = {
  versions: ["0.169.0", "0.171.0"],
  findObstacle(configuration) {
    // Its provider has the key in a variable, which the server's tools would find in /proc.
    return readDetails(configuration).source === "variables"
      ? undefined
      : "its configuration is given as a whole file (CLI_B_CONFIG_TOML)";
  },
  buildServerArgs({ configuration, workspace, permissions, mode, userHome }) {
    const details = readDetails(configuration);
    return [
      "app-server",
      "--strict-config",
      ...[
        // Otherwise the server trusts a workspace that it may write to, and reads the repository's configuration.
        `projects={${tomlString(workspace)}={trust_level="untrusted"}}`,
        ...[...ALWAYS, ...FOR_SERVERS].map(toPair),
        ...(userHome === undefined ? [] : homeOverrides(details, userHome)),
        ...(mode === "execute" && permissions.execute !== "deny" ? [] : ["features.plugins=false"]),
        ...permissionPairs(permissions),
      ].flatMap((pair) => ["-c", pair]),
    ];
  },
  listKeyNames(configuration) {
    const details = readDetails(configuration);
    return details.source === "variables" ? [details.settings.envKey] : [];
  },
  stickySettings: ({ effort }) => effort ?? "",
  greet: (epoch) => [
    JSON.stringify({ id: greetingId(epoch), ...INITIALIZE }),
    JSON.stringify({ method: "initialized" }),
  ],
  readGreeting(line, epoch): Greeting | undefined {
    const { data } = Reply.safeParse(parseJson(line));
    if (data === undefined || data.id !== greetingId(epoch)) return undefined;
    const version = VERSION.exec(data.result?.userAgent ?? "")?.[1];
    if (data.result !== undefined) return { ok: true, isAdopted: false, ...(version === undefined ? {} : { version }) };
    const message = data.error?.message ?? "it did not say why";
    return message === "Already initialized" ? { ok: true, isAdopted: true } : { ok: false, reason: message };
  },
  ping: (id) => JSON.stringify({ id, method: "server/diagnostics", params: {} }),
  isPong: (line, id) => line.startsWith(`{"id":${JSON.stringify(id)},`),
  isAside: (line) => ASIDE.test(line),
  isUnasked: (line) => line.includes('"method":"turn/started"'),
  createConversation,
};
