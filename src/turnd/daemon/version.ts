/** Version of turnd; the same as in package.json, which a test checks. */
export const VERSION = "0.1.0";
