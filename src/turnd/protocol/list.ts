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
    .meta({
      type: "array",
      // Described when the API is: each start would pay for it.
      get items() {
        return describe(element);
      },
      ...(most === Infinity ? {} : { maxItems: most }),
    });
}

function describe(element: z.ZodType): Readonly<Record<string, unknown>> {
  const id = z.globalRegistry.get(element)?.id;
  if (id !== undefined) return { $ref: `#/components/schemas/${id}` };
  const { $schema: _dialect, ...inline } = z.toJSONSchema(element);
  return inline;
}
