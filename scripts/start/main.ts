import { dirname } from "node:path";
import { prepareV8 } from "../../src/turnd/loading/prepare.ts";

// As src/turnd/main.ts does it.
const prepared = prepareV8(process.argv.slice(2), import.meta.dirname);
const { start } = await import("./start.ts");

await start({ ...prepared, root: dirname(dirname(import.meta.dirname)) });
