import * as z from "zod";

/** The header that a page sends with its cookie: programs of other ports are sent the cookie, and never this. */
export const SESSION_KEY_HEADER = "x-turnd-session-key";

/** What a page that is logged in gives to the page of another port: `POST /inspector/session/ticket`. */
export const BrowserHandOver = z
  .strictObject({ ticket: z.string().max(100).describe("Good once, for half a minute.") })
  .meta({ id: "BrowserHandOver", description: "Logs the page of another port of this turnd in." });
export type BrowserHandOver = z.infer<typeof BrowserHandOver>;

/** Body of `POST /inspector/session` and of `POST /terminal/session`. */
export const BrowserLogin = z
  .union([z.strictObject({ token: z.string().max(4_096).describe("turnd's token.") }), BrowserHandOver])
  .meta({ id: "BrowserLogin", description: "A login of a page of turnd." });
export type BrowserLogin = z.infer<typeof BrowserLogin>;

/** What a login of the inspector gives besides its cookie. */
export const BrowserSession = z
  .strictObject({
    key: z.string().meta({ description: `To be sent as \`${SESSION_KEY_HEADER}\` with every request.` }),
    expires_at: z.iso.datetime().describe("When the login ends, UTC."),
  })
  .meta({ id: "BrowserSession", description: "What a login of the inspector gives besides its cookie." });
export type BrowserSession = z.infer<typeof BrowserSession>;

/** What the inspector needs to know before anything else. */
export const BrowserState = z
  .strictObject({
    login: z
      .enum(["open", "needed", "done"])
      .meta({ description: "`open`: this turnd has no token, so there is no login." }),
    version: z.string().describe("turnd's version."),
  })
  .meta({ id: "BrowserState", description: "Whether the inspector has to ask for the token." });
export type BrowserState = z.infer<typeof BrowserState>;
