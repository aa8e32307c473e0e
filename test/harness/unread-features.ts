/** What to do about a feature that was not looked at yet. */
export function whatToDo(version: string): string {
  const source = `codex-rs/features/src/lib.rs of the tag rust-v${version} (github.com/openai/codex), and the release notes`;
  return (
    `read what each does in ${source}, and play a turn with it on and off; then switch it off in ` +
    "src/turnd/daemon/executors/cli-b/config/unasked.ts (BY_DEFAULT), or list it as left on in test/e2e/versions-cli-b.test.ts (LEFT_ON)"
  );
}
