/**
 * Whether a stream gets colours. `FORCE_COLOR` decides where it is set (`0` and `false` are no); otherwise a terminal that takes
 * them does, without `NO_COLOR`.
 *
 * @see https://force-color.org, https://no-color.org
 */
export function takesColors(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const forced = env["FORCE_COLOR"] ?? "";
  if (forced !== "") return forced !== "0" && forced !== "false";
  return stream.isTTY === true && (env["NO_COLOR"] ?? "") === "" && env["TERM"] !== "dumb";
}
