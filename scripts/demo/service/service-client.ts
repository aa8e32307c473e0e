import type { z } from "zod";
import { expectThat } from "../expect-that.ts";

/** Calls of the agent service as one caller. */
export interface ServiceClient {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  get<T>(schema: z.ZodType<T>, path: string): Promise<T>;
  post<T>(schema: z.ZodType<T>, path: string, body?: unknown): Promise<T>;
}

/** A client with a credential: an API key or a token. Every answer is checked against the service's own schema. */
export function createServiceClient(url: string, credential: string | undefined, signal: AbortSignal): ServiceClient {
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` };
  async function call<T>(schema: z.ZodType<T>, method: string, path: string, body?: unknown): Promise<T> {
    const isJson = body !== undefined;
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(isJson ? { "content-type": "application/json" } : {}) },
      signal,
      ...(isJson ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    expectThat(response.status === 200, `${method} ${path} answers 200`, `${response.status} ${text}`);
    return schema.parse(JSON.parse(text));
  }
  return {
    url,
    headers,
    signal,
    get: (schema, path) => call(schema, "GET", path),
    post: (schema, path, body) => call(schema, "POST", path, body),
  };
}
