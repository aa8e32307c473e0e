/**
 * Whether a later answer to the same call may be another one: the request did not arrive in time (408, which a turnd that
 * slept in the middle of it answers), there is no place (429), or turnd or what stands before it fails (5xx).
 */
export function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}
