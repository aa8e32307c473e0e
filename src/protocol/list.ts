import * as z from "zod";

/** Wrong elements that are reported: as many fields as one answer names. */
const MAX_WRONG = 50;

/**
 * An array that is refused after some wrong elements: each element of a hostile body's million must not cost a
 * kilobyte.
 *
 * Refinements after this one may rely on valid elements.
 * @param most - elements
 */
export function listOf<T extends z.ZodType>(element: T, most: number) {
  const id = z.globalRegistry.get(element)?.id;
  const { $schema: _dialect, ...inline } = z.toJSONSchema(element);
  const items = id === undefined ? inline : { $ref: `#/components/schemas/${id}` };
  return z
    .custom<readonly z.output<T>[]>()
    .superRefine((list, context) => {
      if (!Array.isArray(list)) {
        context.addIssue({ code: "invalid_type", expected: "array", input: list, continue: false });
        return;
      }
      if (list.length > most) {
        context.addIssue({ code: "custom", message: `at most ${most} entries`, continue: false });
        return;
      }
      let wrong = 0;
      for (const [index, value] of list.entries()) {
        const issues = element.safeParse(value).error?.issues ?? [];
        for (const issue of issues) context.addIssue({ ...issue, path: [index, ...issue.path], continue: false });
        wrong += Number(issues.length > 0);
        if (wrong >= MAX_WRONG) return;
      }
    })
    .meta({ type: "array", items, ...(most === Infinity ? {} : { maxItems: most }) });
}
