import type { Mutation } from "./mutation.ts";
import { EDGE_MUTATIONS } from "./turnd-edges.ts";
import { STATE_MUTATIONS } from "./turnd-state.ts";
import { TURN_MUTATIONS } from "./turnd-turns.ts";

/** Faults of turnd, of `sandbox/`, and of what it shares with the agent service. */
export const TURND_MUTATIONS: readonly Mutation[] = [...STATE_MUTATIONS, ...TURN_MUTATIONS, ...EDGE_MUTATIONS];
