import { z } from "zod";

/** Why a turn of the app server failed, or an attempt of it. Source: docs/contracts/cli-b-app-server.md §8. */
export const TurnError = z.object({
  message: z.string(),
  codexErrorInfo: z
    .union([z.string(), z.record(z.string(), z.unknown())])
    .nullish()
    .catch(undefined),
  additionalDetails: z.string().nullish().catch(undefined),
});
export type TurnError = z.infer<typeof TurnError>;
