import { expect, test } from "vitest";
import { toolTitle } from "../../../../src/turnd/commands/client/show-tool.ts";

test.each([
  ["/bin/bash -lc 'sh sum.sh'", "sh sum.sh"],
  ["/usr/bin/bash -lc 'sh sum.sh'", "sh sum.sh"],
  ["/usr/local/bin/zsh -c ls", "ls"],
  [`/usr/bin/bash -lc "printf '%s' a"`, "printf '%s' a"],
  [["git", "status"], "git status"],
  // Quoted in parts: what is within the outer quotes is not the command.
  [`/usr/bin/bash -lc 'echo '"'"'a'"'"''`, `/usr/bin/bash -lc 'echo '"'"'a'"'"''`],
  ["bash script.sh", "bash script.sh"],
])("of the command %j the title is execute: %s", (command, shown) => {
  expect(toolTitle({ tool_call_id: "1", kind: "execute", name: "command_execution", input: { command } })).toBe(
    `execute: ${shown}`,
  );
});
