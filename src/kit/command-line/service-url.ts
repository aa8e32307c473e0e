/** An address that no service can have. */
export class ServiceUrlError extends Error {}

/**
 * Reads the address of a service.
 *
 * @returns it without a slash at its end, and whether what is sent there can be read on the way: http beyond this machine
 * @throws {ServiceUrlError} with what is wrong
 */
export function readServiceUrl(text: string): { readonly url: string; readonly isExposed: boolean } {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:"))
    throw new ServiceUrlError(`${JSON.stringify(text)} is no address of a service: https://host[:port]`);
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new ServiceUrlError("the address of a service has no user, query or fragment");
  return { url: url.href.replace(/\/+$/, ""), isExposed: url.protocol === "http:" && !isLoopback(url.hostname) };
}

function isLoopback(hostname: string): boolean {
  return /^(localhost|(.+\.)?localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}
