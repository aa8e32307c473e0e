export * from "./events.ts";
export * from "./executors.ts";
export * from "./failures.ts";
export * from "./problems.ts";
export * from "./sandbox.ts";
export * from "./sessions.ts";
export * from "./turns.ts";
