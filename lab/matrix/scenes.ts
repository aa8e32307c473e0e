import type { Scene } from "./scene.ts";
import { ANSWERS } from "./scenes/answers.ts";
import { ARGUMENTS } from "./scenes/arguments.ts";
import { BROKEN_ANSWERS } from "./scenes/broken-answers.ts";
import { CONFIGURATION } from "./scenes/configuration.ts";
import { FILES } from "./scenes/files.ts";
import { LATER_REQUESTS } from "./scenes/later-requests.ts";
import { NETWORK } from "./scenes/network.ts";
import { PERMISSIONS } from "./scenes/permissions.ts";
import { PLANS } from "./scenes/plans.ts";
import { PROVIDER } from "./scenes/provider.ts";
import { REFUSALS } from "./scenes/refusals.ts";
import { RETRIES } from "./scenes/retries.ts";
import { SESSIONS } from "./scenes/sessions.ts";
import { STOPS } from "./scenes/stops.ts";
import { STORAGE } from "./scenes/storage.ts";
import { IN_STREAM } from "./scenes/streams.ts";
import { TOOLS } from "./scenes/tools.ts";

/** What a provider may do with a request, each in a run of its own. */
export const PROVIDER_SCENES: readonly Scene[] = [...REFUSALS, ...IN_STREAM, ...NETWORK];

/** Whole runs, by what causes their end; fixtures were made of many. */
export const SCENES: readonly Scene[] = [
  ...ANSWERS,
  ...TOOLS,
  ...FILES,
  ...PLANS,
  ...PERMISSIONS,
  ...SESSIONS,
  ...STOPS,
  ...ARGUMENTS,
  ...CONFIGURATION,
  ...STORAGE,
  ...PROVIDER,
  ...LATER_REQUESTS,
  ...BROKEN_ANSWERS,
  ...RETRIES,
];
