import { configFile, readConfig, writeConfig } from "../config.ts";
import type { Context } from "../context.ts";
import { unknownRemote } from "../target.ts";
import { table } from "../../../kit/command-line/text.ts";

/** Lists the logins; no key is shown. */
export async function listRemotes({ env, terminal }: Context): Promise<void> {
  const config = await readConfig(configFile(env));
  const remotes = Object.entries(config.remotes).map(([name, { url, user }]) => ({
    name,
    url,
    user,
    current: name === config.current,
  }));
  if (remotes.length === 0) terminal.notice("no logins: svc login --url <address>");
  else
    terminal.text(
      table(
        ["", "NAME", "USER", "ADDRESS"],
        remotes.map(({ name, url, user, current }) => [current ? "*" : "", name, user, url]),
      ),
    );
  terminal.json({ remotes });
}

/** Makes a login the one that is used. */
export async function useRemote({ env, terminal }: Context, name: string): Promise<void> {
  const file = configFile(env);
  const config = await readConfig(file);
  const remote = config.remotes[name];
  if (remote === undefined) throw unknownRemote(name, config);
  await writeConfig(file, { ...config, current: name });
  terminal.text(`${name} is used from now on: ${remote.url}`);
  terminal.json({ current: name });
}

/** Removes a login without asking its service; `svc logout` also revokes the key. */
export async function removeRemote({ env, terminal }: Context, name: string): Promise<void> {
  const file = configFile(env);
  const config = await readConfig(file);
  if (config.remotes[name] === undefined) throw unknownRemote(name, config);
  const { [name]: _gone, ...remotes } = config.remotes;
  await writeConfig(file, { ...config, remotes });
  terminal.text(`${name} is removed; its key was not revoked`);
  terminal.json({ removed: name });
}
