import { dirname } from "node:path";
import { prepareV8 } from "./loading/prepare.ts";

const prepared = prepareV8(process.argv.slice(2), import.meta.dirname);
// Loaded only now: what is loaded before takes no compiled code.
const { runProgram } = await import("./program.ts");

// Two folders up from here, as from the file that scripts/bundle-turnd.ts makes of this one.
await runProgram({ ...prepared, root: dirname(dirname(import.meta.dirname)) });
