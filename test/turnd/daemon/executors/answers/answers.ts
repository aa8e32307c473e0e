import type { Answer } from "./answer.ts";
import { ANTHROPIC_AND_GOOGLE } from "./anthropic-and-google.ts";
import { GATEWAYS } from "./gateways.ts";
import { OPENAI } from "./openai.ts";
import { OTHER_MAKERS } from "./other-makers.ts";
import { UNSEEN_EIGHTH } from "./unseen/eighth.ts";
import { UNSEEN_FIFTH_MAKERS } from "./unseen/fifth-makers.ts";
import { UNSEEN_FIFTH_OTHERS } from "./unseen/fifth-others.ts";
import { UNSEEN_FIFTH_WORDS } from "./unseen/fifth-words.ts";
import { UNSEEN_FIRST } from "./unseen/first.ts";
import { UNSEEN_FOURTH } from "./unseen/fourth.ts";
import { UNSEEN_SECOND } from "./unseen/second.ts";
import { UNSEEN_SEVENTH } from "./unseen/seventh.ts";
import { UNSEEN_SIXTH } from "./unseen/sixth.ts";
import { UNSEEN_THIRD } from "./unseen/third.ts";

/** Every way in which a provider is known to refuse a request. */
export const ANSWERS: readonly Answer[] = [
  ...OPENAI,
  ...ANTHROPIC_AND_GOOGLE,
  ...OTHER_MAKERS,
  ...GATEWAYS,
  ...UNSEEN_FIRST,
  ...UNSEEN_SECOND,
  ...UNSEEN_THIRD,
  ...UNSEEN_FOURTH,
  ...UNSEEN_FIFTH_MAKERS,
  ...UNSEEN_FIFTH_OTHERS,
  ...UNSEEN_FIFTH_WORDS,
  ...UNSEEN_SIXTH,
  ...UNSEEN_SEVENTH,
  ...UNSEEN_EIGHTH,
];
