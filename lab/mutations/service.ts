import type { Mutation } from "./mutation.ts";
import { SERVICE_ACCESS } from "./service-access.ts";
import { SERVICE_KNOWLEDGE } from "./service-knowledge.ts";
import { SERVICE_RUNS } from "./service-runs.ts";

/** Faults of the agent service. */
export const SERVICE_MUTATIONS: readonly Mutation[] = [...SERVICE_ACCESS, ...SERVICE_RUNS, ...SERVICE_KNOWLEDGE];
