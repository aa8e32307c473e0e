import type { FastifyInstance, FastifyListenOptions } from "fastify";
import { SettingsError } from "../settings.ts";

/** Where a server is to listen, and the variables that say so. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly reusePort: boolean;
  readonly hostVariable: string;
  readonly portVariable: string;
}

/**
 * Lets a server listen.
 *
 * @throws {SettingsError} that names the variable, its value and what is wrong with it
 */
export async function listenAt(
  app: Pick<FastifyInstance, "listen">,
  { hostVariable, portVariable, ...address }: ListenAddress,
): Promise<void> {
  // Fastify passes on to Node what its types do not name.
  const options: FastifyListenOptions & { reusePort: boolean } = address;
  try {
    await app.listen(options);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EADDRINUSE")
      throw new SettingsError([`${portVariable} is ${address.port}: another program listens there (EADDRINUSE)`]);
    if (code === "EACCES")
      throw new SettingsError([`${portVariable} is ${address.port}: this user may not listen there (EACCES)`]);
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN")
      throw new SettingsError([`${hostVariable} is "${address.host}": it is no address of this machine (${code})`]);
    throw error;
  }
}
