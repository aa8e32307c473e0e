import { existsSync } from "node:fs";
import { inject } from "vitest";
import { BUILD_LIMIT_MS, readBuilt } from "./provide-image.ts";
import { waitFor } from "./wait-for.ts";

// Runs before each file of the image's tests: by then the image is mostly there.
const { skipped, built } = inject("image");
if (skipped === undefined) {
  await waitFor("the image to be built", () => existsSync(built), BUILD_LIMIT_MS);
  readBuilt(built);
}
