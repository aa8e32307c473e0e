import { NewPassword } from "../protocol/auth.ts";
import { resetPassword } from "../auth/reset-password.ts";
import { withTransactions } from "./migrate.ts";
import type { Settings } from "../settings/settings.ts";

/** Arguments or input that a person can put right. */
export class ResetRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ResetRefused";
  }
}

/**
 * Gives a user the password that stands on standard input: not in an argument, which every process could read.
 *
 * @param input - the password, with or without a line's end
 * @throws {ResetRefused}
 */
export async function resetPasswordOf(
  settings: Settings,
  username: string,
  { input, out }: { input: string; out: { write(text: string): unknown } },
): Promise<void> {
  const password = NewPassword.safeParse(input.replace(/\r?\n$/, ""));
  if (!password.success) throw new ResetRefused("the password on standard input must have 8 to 200 characters");
  await withTransactions(settings, async (storage) => {
    const { isEnabled } = await resetPassword(storage, { username, password: password.data });
    out.write(`${username} has the new password, and every login of theirs has ended\n`);
    if (!isEnabled) out.write(`${username} is disabled: a superadmin has to enable the user\n`);
  });
}
