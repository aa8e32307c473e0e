import { error, toAnswers, type Row } from "../answer.ts";

const said = (message: string): unknown => error(message, null);

const ROWS: readonly Row[] = [
  ["eighth-top-up", 400, said("Please top up before sending more requests."), "quota_exceeded"],
  ["eighth-sponsor", 403, said("The sponsor of this project has stopped paying for it."), "quota_exceeded"],
  ["eighth-seats", 403, said("All credits of this billing period are spent."), "quota_exceeded"],
  ["eighth-budget", 400, said("The team budget of 50 USD was used up on 24 November."), "quota_exceeded"],
  ["eighth-invoice", 422, { message: "Cannot process: open invoice of account 12." }, "quota_exceeded"],
  ["eighth-cost-centre", 400, said("Cost centre 4711 has no money left."), "quota_exceeded"],
  ["eighth-token-form", 400, said("The supplied API token has the wrong format."), "auth_failed"],
  ["eighth-key-deleted", 400, said("API key was deleted by its owner."), "auth_failed"],
  ["eighth-no-credentials", 400, { detail: "No credentials were sent." }, "auth_failed"],
  ["eighth-hmac", 400, said("HMAC signature is wrong."), "auth_failed"],
  ["eighth-account-locked", 400, said("This account is locked after too many failed logins."), "auth_failed"],
  // Labelled without invalid_request at first: not a word says that it is about a model.
  [
    "eighth-model-typo",
    400,
    said("Did you mean 'm-large'? There is no 'm-larg'."),
    "model_not_found",
    "model_not_found",
    ["invalid_request"],
  ],
  ["eighth-model-list", 404, said("Model m is not in the catalogue."), "model_not_found"],
  ["eighth-model-fine-tune", 400, said("The fine-tuned model ft:m was deleted."), "model_not_found"],
  ["eighth-model-host", 400, said("None of our hosts serves model m."), "model_not_found"],
  [
    "eighth-model-preview",
    403,
    said("The preview of this model has ended."),
    "model_not_found",
    "model_not_found",
    ["auth_failed"],
  ],
  ["eighth-model-gone", 410, { message: "m is gone." }, "model_not_found"],
  ["eighth-long-thread", 400, said("This thread exceeds what the model can take in."), "context_overflow"],
  [
    "eighth-needs-window",
    400,
    said("You would need a window of 400k tokens for this; m has 128k."),
    "context_overflow",
  ],
  ["eighth-trim", 400, said("Trim the conversation: 9000 tokens do not fit into 8192."), "context_overflow"],
  ["eighth-budget-of-tokens", 400, said("Your prompt uses 210000 of 200000 tokens."), "context_overflow"],
  ["eighth-max-input", 422, { detail: "max input size is 8192 tokens, got 9000" }, "context_overflow"],
  ["eighth-refused-topic", 400, said("This topic is not allowed here: weapons."), "content_blocked"],
  ["eighth-minors", 400, said("Content involving minors is refused."), "content_blocked"],
  ["eighth-copyright", 400, said("The answer was withheld because it repeats protected text."), "content_blocked"],
  ["eighth-filter-hit", 400, said("Filter 'hate' matched with severity high."), "content_blocked"],
  ["eighth-roles", 400, said("The role 'developer' is unknown."), "invalid_request"],
  ["eighth-json-depth", 400, said("The body is nested too deeply."), "invalid_request"],
  ["eighth-tool-twice", 400, said("Two tools have the same name."), "invalid_request"],
  ["eighth-temperature", 400, said("temperature: 3 is above the maximum of 2."), "invalid_request"],
  ["eighth-image-link", 400, said("The image at this link could not be fetched."), "invalid_request"],
  ["eighth-tool-result", 400, said("A tool result has no matching call."), "invalid_request"],
  ["eighth-encoding", 400, said("The body is not valid UTF-8."), "invalid_request"],
  ["eighth-cache", 400, said("A cache marker may stand in at most four blocks."), "invalid_request"],
  ["eighth-forbidden", 403, said("You shall not pass."), "auth_failed"],
  [
    "eighth-firewall",
    403,
    "<html><title>Web filter</title>The firewall of your company stopped this page.</html>",
    "auth_failed",
  ],
];

/** An eighth hold-out, of sentences alone: labelled on 2026-11-25 before anything was run. */
export const UNSEEN_EIGHTH = toAnswers(ROWS);
