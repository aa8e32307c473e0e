import type { ReceivedSpan } from "./otlp-receiver.ts";

/** Numbers of the fields that are read. Source: opentelemetry-proto, trace/v1/trace.proto and common/v1/common.proto. */
const RESOURCE_SPANS = 1;
const SCOPE_SPANS = 2;
const SPANS = 2;
const SPAN = { traceId: 1, spanId: 2, parentSpanId: 4, name: 5, start: 7, end: 8, status: 15 };
const STATUS_CODE = 3;
const ERROR = 2n;

/** Reads an ExportTraceServiceRequest in protobuf; attributes and links are left out. */
export function readProtobufSpans(body: Buffer): ReceivedSpan[] {
  return messagesIn(body, RESOURCE_SPANS)
    .flatMap((resource) => messagesIn(resource, SCOPE_SPANS))
    .flatMap((scope) => messagesIn(scope, SPANS))
    .map((span) => {
      const [status] = messagesIn(span, SPAN.status);
      const code = status === undefined ? undefined : readFields(status).find(({ field }) => field === STATUS_CODE);
      const bytes = (field: number): Buffer => messagesIn(span, field)[0] ?? Buffer.alloc(0);
      return {
        name: bytes(SPAN.name).toString("utf8"),
        traceId: bytes(SPAN.traceId).toString("hex"),
        spanId: bytes(SPAN.spanId).toString("hex"),
        parentSpanId: bytes(SPAN.parentSpanId).toString("hex"),
        startMs: Number(bytes(SPAN.start).readBigUInt64LE() / 1_000n) / 1_000,
        endMs: Number(bytes(SPAN.end).readBigUInt64LE() / 1_000n) / 1_000,
        attributes: {},
        isError: code?.value === ERROR,
        links: [],
      };
    });
}

interface Field {
  readonly field: number;
  readonly value: Buffer | bigint;
}

function messagesIn(message: Buffer, wanted: number): Buffer[] {
  return readFields(message).flatMap(({ field, value }) => (field === wanted && Buffer.isBuffer(value) ? [value] : []));
}

/** @see protobuf.dev/programming-guides/encoding */
function readFields(message: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;
  function varint(): bigint {
    for (let [value, shift] = [0n, 0n]; ; shift += 7n) {
      const byte = message.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  }
  function take(length: number): Buffer {
    if (at + length > message.length) throw new Error("a field ends beyond its message");
    at += length;
    return message.subarray(at - length, at);
  }
  while (at < message.length) {
    const tag = Number(varint());
    const [field, wireType] = [tag >>> 3, tag & 7];
    if (wireType === 0) fields.push({ field, value: varint() });
    else if (wireType === 1) fields.push({ field, value: take(8) });
    else if (wireType === 2) fields.push({ field, value: take(Number(varint())) });
    else if (wireType === 5) fields.push({ field, value: take(4) });
    else throw new Error(`unknown wire type ${wireType}`);
  }
  return fields;
}
