import { expect, onTestFinished, test } from "vitest";
import { changeHome } from "../../src/daemon/turns/home.ts";
import { processesNaming } from "../harness/processes.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

test("a home that takes for ever to be written is given up with its writer when the signal aborts", async () => {
  const mark = `slow-writer-${process.pid}`;
  const stopping = new AbortController();
  const home = userDirectory(temporaryDirectory(onTestFinished));
  const homeWriter = `sleep 3600; # ${mark}`;
  const changing = changeHome({ homeWriter, runAs: CLI_USER }, home, [{ do: "make", path: "tmp" }], stopping.signal);
  await waitFor("the writer", () => processesNaming(mark).length > 0);
  stopping.abort(new Error("enough"));
  await expect(changing).rejects.toThrow("enough");
  await waitFor("the writer's end", () => processesNaming(mark).length === 0);
});
