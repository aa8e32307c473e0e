import { z } from "zod";

export const integer = (fallback: number, minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.int().min(minimum).max(maximum)).default(fallback);
export const flag = (fallback: "true" | "false") =>
  z
    .enum(["true", "false"])
    .default(fallback)
    .transform((value) => value === "true");
export const list = z.string().transform((text) => text.split(/[ ,]+/).filter(Boolean));
export const path = z.string().startsWith("/").optional();
export const url = z.url({ protocol: /^https?$/ }).transform((text) => new URL(text));
export const program = z.union([z.enum(["off", "auto"]), z.string().startsWith("/")]).default("auto");
export const secretText = z.string().min(1).optional();
