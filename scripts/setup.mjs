// Runs before every npm command but `npm start`, which does the same itself: scripts/start.mjs.
import { installMissing } from "./install-missing.mjs";

await installMissing({ isForTests: process.argv.includes("--tests") });
