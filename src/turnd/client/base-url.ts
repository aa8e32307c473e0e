/**
 * Normalizes the address that paths of requests are appended to.
 *
 * @param baseUrl - `http://host:port`, with a path where a proxy has turnd below one; or, in a page, a path: `""`, `/turnd`
 * @throws {TypeError} for what requests cannot be sent to
 */
export function readBaseUrl(baseUrl: string): string {
  const page: unknown = Reflect.get(globalThis, "location");
  const href: unknown = typeof page === "object" && page !== null ? Reflect.get(page, "href") : undefined;
  const base = typeof href === "string" ? href : undefined;
  const url = URL.canParse(baseUrl, base) ? new URL(baseUrl, base) : null;
  const quoted = JSON.stringify(baseUrl);
  if (url === null) {
    throw new TypeError(`baseUrl must be an http or https address, such as http://127.0.0.1:8091, got ${quoted}`);
  }
  if (!/^https?:$/.test(url.protocol))
    throw new TypeError(`baseUrl must begin with http:// or https://, got ${quoted}`);
  if (url.username !== "" || url.password !== "") throw new TypeError("baseUrl must not hold a password; give a token");
  const isRelative = !/^[a-z]+:\/\//i.test(baseUrl);
  if (isRelative ? /[?#]/.test(baseUrl) : url.search !== "" || url.hash !== "") {
    throw new TypeError(`baseUrl must not have a query or a fragment, got ${quoted}`);
  }
  return baseUrl.replace(/\/+$/, "");
}
