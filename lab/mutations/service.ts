import type { Mutation } from "./mutation.ts";

/** Faults of the agent service. */
export const SERVICE_MUTATIONS: readonly Mutation[] = [];
