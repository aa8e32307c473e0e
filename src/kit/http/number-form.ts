/**
 * The field of a path or a query whose number is written in another form than its digits, such as `0x1`, `1e3`, ` 1` or `01`: JavaScript
 * reads those as numbers too, and a row would have many names.
 *
 * @param given - the fields as they came
 * @param read - the same, read by their schema
 */
export function findOtherForm(given: unknown, read: unknown): string | undefined {
  if (!isFields(given) || !isFields(read)) return undefined;
  return Object.keys(read).find((name) => {
    const text = given[name];
    return typeof read[name] === "number" && typeof text === "string" && text !== String(read[name]);
  });
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
