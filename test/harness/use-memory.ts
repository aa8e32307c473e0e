import { inject } from "vitest";

// Runs before each file of the tests: what they and their programs make below `tmpdir()` is there.
process.env["TMPDIR"] = inject("temporary");
