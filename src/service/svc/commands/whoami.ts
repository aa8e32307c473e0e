import { Me } from "../answers.ts";
import { createClient, readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import { safeLine } from "../../../kit/command-line/text.ts";

/** Shows who the service takes the caller for. */
export async function whoami({ target: choose, terminal, signal }: Context): Promise<void> {
  const target = await choose();
  const answer = await createClient({ ...target, signal }).call({ method: "GET", path: "/api/auth/me" });
  const { user, credential } = readAnswer(Me, answer);
  const by = target.remote === undefined ? "SVC_API_KEY" : `login ${target.remote}`;
  terminal.text(`${safeLine(user.username)} (${user.role}) at ${target.url}, by ${credential.type} of ${by}`);
  terminal.json(answer);
}
