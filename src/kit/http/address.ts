import type { Server } from "node:http";

/** The URL at which an app listens. */
export function describeAddress({ server }: { readonly server: Pick<Server, "address"> }): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server listens on no port");
  return `http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`;
}
