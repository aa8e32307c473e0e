import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { createServer } from "node:tls";

/** An authority that no system knows, with a certificate of its own for 127.0.0.1 and provider.test. */
export interface PrivateAuthority {
  /** Its certificate, in PEM. */
  readonly file: string;
  /** Its certificate, by its hash, as OpenSSL looks for it. */
  readonly directory: string;
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Makes one; the keys are only in the directory. Needs `openssl`. */
export function makeAuthority(directory: string): PrivateAuthority {
  const openssl = (...args: readonly string[]): void =>
    void execFileSync("openssl", args, { cwd: directory, stdio: ["ignore", "ignore", "pipe"] });
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...kind, "-days", "2", "-subj", "/CN=private", "-keyout", "ca.key", "-out", "ca.pem");
  openssl("req", ...kind, "-subj", "/CN=provider", "-keyout", "server.key", "-out", "server.csr");
  const uses = ["subjectAltName=DNS:provider.test,IP:127.0.0.1", "basicConstraints=CA:FALSE"];
  writeFileSync(join(directory, "server.ext"), `${[...uses, "extendedKeyUsage=serverAuth"].join("\n")}\n`);
  const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "server.ext"];
  openssl("x509", "-req", "-in", "server.csr", ...signed, "-out", "server.pem");
  const authorities = join(directory, "authorities");
  mkdirSync(authorities);
  writeFileSync(join(authorities, "private.pem"), readFileSync(join(directory, "ca.pem")), { mode: 0o644 });
  openssl("rehash", "authorities");
  return {
    file: join(authorities, "private.pem"),
    directory: authorities,
    key: readFileSync(join(directory, "server.key")),
    cert: readFileSync(join(directory, "server.pem")),
  };
}

/** Serves TLS on loopback before a server that does not. */
export async function serveTls(
  { key, cert }: PrivateAuthority,
  port: number,
): Promise<{ readonly port: number; close(): void }> {
  const open = new Set<Socket>();
  const front = createServer({ key, cert }, (client) => {
    const server = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => open.delete(one));
      one.pipe(other);
    }
  });
  // A client that does not accept the certificate disconnects.
  front.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  return {
    port: (front.address() as AddressInfo).port,
    close() {
      for (const socket of open) socket.destroy();
      front.close();
    },
  };
}
