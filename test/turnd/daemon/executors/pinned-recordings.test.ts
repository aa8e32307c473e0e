import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CLI_VERSIONS } from "../../../harness/cli-versions.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { listRecordings, type Recording } from "./recordings.ts";

/** What every default version has a recording of, so that its own records are read by every test of recordings. */
const BEHAVIOURS: Readonly<Record<string, (recording: Recording) => boolean>> = {
  "an answer": ({ expected }) => expected.status === "completed" && expected.tool_calls === 0,
  "a tool call": ({ expected }) => expected.status === "completed" && expected.tool_calls > 0,
  "a resume": ({ expected }) => expected.resumed === true,
  "a rate limit": ({ expected }) => expected.code === "rate_limited",
  "a bad key": ({ expected }) => expected.code === "auth_failed",
  "a killed process": ({ exit }) => exit?.signal === "SIGKILL",
};

describe.each([
  ["cli-a", CLI_VERSIONS.opencode.image],
  ["cli-b", CLI_VERSIONS.codex.image],
] as const)("%s %s, which the image takes", (executor, version) => {
  const recordings = listRecordings(join(REPOSITORY, "fixtures"), executor).filter(
    ({ turn }) => turn.cli_version === version,
  );

  test.each(Object.keys(BEHAVIOURS))("has a recording of %s", (name) => {
    expect(recordings.filter((recording) => BEHAVIOURS[name]?.(recording))).not.toEqual([]);
  });
});
