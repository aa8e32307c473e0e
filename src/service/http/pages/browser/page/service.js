/** The token is sent by this page's own program alone: it is no cookie, so that no other page's request can carry it. */
let token = "";

/** @param {string} given - of the user who logged in; empty without a login */
export function useToken(given) {
  token = given;
}

/** Whether a user is logged in, as far as this page can tell. */
export const hasToken = () => token !== "";

/** Headers of every call. @returns {Record<string, string>} */
export function headersOfCalls() {
  return { accept: "application/json", ...(token !== "" && { authorization: "Bearer " + token }) };
}

/** A refusal by the service. */
export class Refusal extends Error {
  /**
   * @param {string} message
   * @param {string | undefined} code - of the problem; none where a request was invalid
   */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * Calls the service. The answer's type is the caller's to name.
 *
 * @template Answer
 * @param {"GET" | "POST" | "DELETE"} method
 * @param {string} path
 * @param {unknown} [body]
 * @returns {Promise<Answer>}
 * @throws {Refusal}
 */
export async function call(method, path, body) {
  const headers = headersOfCalls();
  if (body !== undefined) headers["content-type"] = "application/json";
  const sent = body === undefined ? null : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, credentials: "omit", body: sent });
  return readAnswer(answer.status, await answer.text());
}

/**
 * What the service answered.
 *
 * @template Answer
 * @param {number} status
 * @param {string} text
 * @returns {Answer} not parsed by a schema: the service that answers is the one that sent this page
 * @throws {Refusal}
 */
export function readAnswer(status, text) {
  /** @type {Answer & { detail?: { code?: string, message?: string } | { msg: string }[] } | undefined} */
  let json;
  try {
    // oxlint-disable-next-line typescript/no-unsafe-assignment
    json = JSON.parse(text);
  } catch {
    // A proxy answers with pages of its own.
  }
  if (status < 400) {
    if (json === undefined) throw new Error("The service gave an answer that is not its own.");
    return json;
  }
  const { detail = {} } = json ?? {};
  if (Array.isArray(detail)) throw new Refusal(detail.map(({ msg }) => msg).join("; "), undefined);
  throw new Refusal(detail.message ?? "The service answered " + status + ".", detail.code);
}

/** Whether a call was refused because the login has ended. @param {unknown} fault */
export const isLoggedOut = (fault) => fault instanceof Refusal && fault.code === "unauthorized";

/** The text that describes a fault on the page. @param {unknown} fault */
export function describeFault(fault) {
  const message = fault instanceof Error ? fault.message : String(fault);
  return message === "Failed to fetch" ? "The service does not answer. Try again." : message;
}
