import type { Logger } from "pino";
import type { UrlFetched } from "../../protocol/knowledge-files.ts";
import { ApiProblem, InputProblem } from "../../protocol/problems.ts";
import type { Caller } from "../../auth/caller.ts";
import { OutboundFailed, OutboundRefused } from "../../outbound/errors.ts";
import type { Outbound, OutboundAnswer } from "../../outbound/outbound.ts";
import type { Objects } from "../../storage/objects.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BaseRow } from "../state/access.ts";
import { checkFilename } from "./file-types.ts";
import { nameUpload } from "./name-upload.ts";
import { readPageText } from "./page-text.ts";
import type { SupportedType } from "../parse/parser.ts";

/** What pages may be fetched. Source: the settings `SERVICE_KB_URL_*`. */
export interface FetchRules {
  /** `example.org` itself, `.example.org` or `*.example.org` its sub-domains, `*` any; empty: none. */
  readonly allow: readonly string[];
  readonly ports: readonly number[];
  /** After decoding. */
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export interface UrlFetcherOptions {
  readonly storage: Storage;
  readonly objects: Objects;
  readonly outbound: Outbound;
  readonly rules: FetchRules;
  readonly types: readonly SupportedType[];
  readonly logger: Logger;
}

/** Takes pages in from the web, as uploads. */
export interface UrlFetcher {
  /**
   * @throws {ApiProblem} url_fetch_disabled, url_refused, url_fetch_failed, unsupported_file_type, kb_not_found, or the
   *   signal's reason
   */
  fetchUrl(base: BaseRow, caller: Caller, url: string, signal: AbortSignal): Promise<UrlFetched>;
}

const MAX_REDIRECTS = 5;
const MAX_NAME = 200;
const HTML: ReadonlySet<string> = new Set(["text/html", "application/xhtml+xml"]);

export function createUrlFetcher({ storage, objects, outbound, rules, types, logger }: UrlFetcherOptions): UrlFetcher {
  const isHostAllowed = matchHosts(rules.allow);

  /** For every hop. */
  function check(url: URL): void {
    if (!isHostAllowed(url.hostname))
      throw new OutboundRefused("host_not_allowed", "the host is not on the allow-list");
    const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
    if (!rules.ports.includes(port)) throw new OutboundRefused("port", "pages are not fetched from this port");
  }

  async function get(url: string, signal: AbortSignal): Promise<OutboundAnswer> {
    const headers = { accept: "text/html, application/xhtml+xml" };
    const { maxBytes, timeoutMs } = rules;
    try {
      return await outbound.fetch({ url, headers, maxBytes, timeoutMs, maxRedirects: MAX_REDIRECTS, check, signal });
    } catch (error) {
      if (error instanceof OutboundRefused) throw refused(error.reason, error.message);
      if (!(error instanceof OutboundFailed)) throw error;
      // Neither the address nor what is behind it: a query may hold a secret.
      logger.warn({ host: URL.parse(url)?.hostname, reason: error.reason }, "a page was not fetched");
      throw new ApiProblem("url_fetch_failed", `the page was not fetched: ${error.message}`, { reason: error.reason });
    }
  }

  return {
    async fetchUrl(base, caller, url, signal) {
      if (rules.allow.length === 0) {
        throw new ApiProblem("url_fetch_disabled", "no pages are fetched here: SERVICE_KB_URL_ALLOW names no host");
      }
      const answer = await get(url, signal);
      const { page, contentType } = readPage(answer);
      const finalUrl = withoutFragment(answer.url);
      const filename = nameOf(new URL(answer.url));
      checkFilename(filename, types);
      const object = await objects.put(page, page.length);
      try {
        const named = await storage.transaction((trx) =>
          nameUpload(trx, base, caller, { filename, object, sourceUrl: finalUrl, allowsDuplicate: true }),
        );
        return { status: "success", ...named, final_url: finalUrl, content_type: contentType };
      } catch (error) {
        // What is not deleted here, the sweep deletes.
        await objects
          .delete(object.key)
          .catch((fault: unknown) => logger.warn({ err: fault }, "a fetched page was not deleted"));
        throw error;
      }
    },
  };
}

/** @throws {ApiProblem} url_fetch_failed, url_refused */
function readPage({ status, headers, body }: OutboundAnswer): { page: Buffer; contentType: string } {
  if (status < 200 || status > 299)
    throw new ApiProblem("url_fetch_failed", `the page was answered with HTTP ${status}`, { reason: "status", status });
  const header = headers["content-type"] ?? "";
  const contentType = header.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const page = HTML.has(contentType) ? readPageText(body, header) : undefined;
  if (page === undefined) throw refused("not_html", "the answer is not a page of HTML");
  return { page, contentType };
}

function refused(reason: string, message: string): ApiProblem {
  return new InputProblem("url_refused", ["body", "url"], message, { reason });
}

/** Whether a host is one of those that patterns name. */
function matchHosts(patterns: readonly string[]): (hostname: string) => boolean {
  const exact = new Set<string>();
  const suffixes: string[] = [];
  let isAny = false;
  for (const pattern of patterns.map((one) => withoutDot(one.toLowerCase()))) {
    if (pattern === "*") isAny = true;
    else if (pattern.startsWith("*.")) suffixes.push(pattern.slice(1));
    else if (pattern.startsWith(".")) suffixes.push(pattern);
    else exact.add(pattern);
  }
  return (hostname) => {
    const host = withoutDot(hostname);
    return isAny || exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host.length > suffix.length);
  };
}

/** `example.org.` is `example.org`. */
function withoutDot(host: string): string {
  return host.endsWith(".") ? host.slice(0, -1) : host;
}

function withoutFragment(url: string): string {
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}

/** `<host><path>.html`, as a name without slashes. */
function nameOf({ hostname, pathname }: URL): string {
  const path = decode(pathname)
    .replace(/\/+$/, "")
    .replace(/\.x?html?$/i, "");
  // oxlint-disable-next-line no-control-regex -- these are what no name has
  const name = `${hostname}${path}`.replaceAll(/[\u0000-\u001f\u007f/\\:[\]]/g, "-").slice(0, MAX_NAME);
  return `${name.toWellFormed()}.html`;
}

function decode(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // A percent sign that encodes nothing: then the path is its own name.
    return path;
  }
}
