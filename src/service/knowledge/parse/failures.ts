/** Every code with which parsing a file can fail, and whether trying the same bytes again may end otherwise. */
export const PARSE_FAILURES = {
  unsupported_type: { isRetryable: false },
  type_mismatch: { isRetryable: false },
  empty_document: { isRetryable: false },
  /** Pages without text, and no OCR to read them. */
  no_text: { isRetryable: false },
  encrypted: { isRetryable: false },
  corrupt: { isRetryable: false },
  too_deep: { isRetryable: false },
  archive_limit: { isRetryable: false },
  archive_unsafe: { isRetryable: false },
  too_many_pages: { isRetryable: false },
  output_limit: { isRetryable: false },
  parser_timeout: { isRetryable: true },
  parser_memory: { isRetryable: true },
  parser_crashed: { isRetryable: true },
  /** Installing the program and parsing again helps. */
  ocr_unavailable: { isRetryable: true },
  ocr_failed: { isRetryable: true },
  converter_unavailable: { isRetryable: true },
  // Of chunking, which runs in the same child.
  no_chunks: { isRetryable: false },
  too_many_chunks: { isRetryable: false },
} as const;

export type ParseFailureCode = keyof typeof PARSE_FAILURES;

/** Longest message of a failure, in characters. */
export const MESSAGE_CHARACTERS = 500;

/** A document could not be parsed, or its Markdown not cut into chunks. `message` may hold a library's words. */
export class ParseFailed extends Error {
  readonly code: ParseFailureCode;
  readonly isRetryable: boolean;

  constructor(code: ParseFailureCode, message: string, options?: ErrorOptions) {
    super(message.slice(0, MESSAGE_CHARACTERS).toWellFormed(), options);
    this.name = "ParseFailed";
    this.code = code;
    this.isRetryable = PARSE_FAILURES[code].isRetryable;
  }
}

/** Whether a text from the child is one of the codes. */
export function isParseFailureCode(text: string): text is ParseFailureCode {
  return Object.hasOwn(PARSE_FAILURES, text);
}
