import { refusals, asIs } from "./answer.ts";

const refused = refusals("provider_timeout");

/** What means `provider_timeout`, by its status. */
export const PROVIDER_TIMEOUT = [
  ...refused(408, {
    "openrouter-timeout": { error: { message: "Request timed out", code: 408 }, user_id: "user_1" },
    "bedrock-timeout": { message: "Model has timed out in processing the request. Try your request again." },
    "request-timeout": asIs("Request Timeout"),
    "took-too-long": "The model took too long to answer.",
    "slow-page": asIs("<html><title>408 Request Time-out</title></html>"),
  }),
];
