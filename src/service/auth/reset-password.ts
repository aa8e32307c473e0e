import { ApiProblem } from "../protocol/problems.ts";
import type { Storage } from "../storage/storage.ts";
import { writeAudit } from "./audit.ts";
import { endLogins } from "./end-logins.ts";
import { forgetFailures } from "./lockout.ts";
import { forgetAddresses } from "./login-addresses.ts";
import { assertGoodPassword, createPasswords } from "./passwords.ts";

/**
 * Gives a user another password without the old one, for an operator who can reach the database: ends all tokens of the user and
 * every lock of the name. API keys stay.
 *
 * @returns whether the user may log in: one who is disabled may not
 * @throws {ApiProblem} user_not_found, password_invalid
 */
export async function resetPassword(
  { transaction }: Pick<Storage, "transaction">,
  given: { readonly username: string; readonly password: string },
): Promise<{ readonly isEnabled: boolean }> {
  const username = given.username.toLowerCase();
  assertGoodPassword(given.password, username);
  const hash = await createPasswords().hash(given.password);
  return transaction(async (trx) => {
    const row = await trx
      .updateTable("account")
      .set({ password_hash: hash })
      .where("username", "=", username)
      .where("deleted_at", "is", null)
      .returning(["id", "is_enabled"])
      .executeTakeFirst();
    if (row === undefined) throw new ApiProblem("user_not_found", `there is no user ${JSON.stringify(given.username)}`);
    await endLogins(trx, row.id);
    await forgetFailures(trx, username);
    await forgetAddresses(trx, row.id);
    await writeAudit(
      trx,
      { ip: null },
      { action: "password.reset", subject: `user:${row.id}`, details: { by: "command_line" } },
    );
    return { isEnabled: row.is_enabled };
  });
}
