import { createClient } from "../client.ts";
import { configFile, readConfig, writeConfig, type Remote } from "../config.ts";
import type { Context } from "../context.ts";
import { EXIT, SvcError } from "../exit-codes.ts";
import { unknownRemote } from "../target.ts";

/** Removes a login. A key that the login made is revoked; one that was given stays as it is. */
export async function logout(context: Context, { localOnly }: { readonly localOnly?: boolean }): Promise<void> {
  const { env, terminal } = context;
  const file = configFile(env);
  const config = await readConfig(file);
  const name = context.options.remote ?? config.current;
  const remote = config.remotes[name];
  if (remote === undefined && context.options.remote !== undefined) throw unknownRemote(name, config);
  if (remote === undefined) throw new SvcError("not_logged_in", "not logged in", { exitCode: EXIT.notLoggedIn });
  const isRevoked = localOnly !== true && (await revoke(context, remote));
  const { [name]: _gone, ...remotes } = config.remotes;
  await writeConfig(file, { ...config, remotes });
  terminal.text(`logged out of ${remote.url}${isRevoked ? "; the key is revoked" : "; the key was not revoked"}`);
  terminal.json({ remote: name, url: remote.url, revoked: isRevoked });
}

/** @throws {SvcError} where the key may still be good: it stays here then, so that it can be revoked later */
async function revoke({ signal }: Context, { url, api_key: apiKey, api_key_id: id }: Remote): Promise<boolean> {
  if (id === undefined) return false;
  try {
    await createClient({ url, apiKey, signal }).call({ method: "DELETE", path: `/api/user/apikey/${id}` });
    return true;
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    // Revoked already.
    if (error.exitCode === EXIT.notLoggedIn || error.exitCode === EXIT.notFound) return true;
    throw new SvcError(
      error.code,
      `${error.message}: the key was not revoked; --local-only removes the login all the same`,
      {
        exitCode: error.exitCode,
        status: error.status,
        cause: error,
      },
    );
  }
}
