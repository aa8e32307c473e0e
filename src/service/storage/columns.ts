import type { ColumnType, Generated } from "kysely";
import type { JsonText } from "./storable.ts";

/** A jsonb column: read as a value, written by `json()`. */
export type Json<T> = ColumnType<T, JsonText<T>, JsonText<T>>;
/** A jsonb column with a default of the database. */
export type JsonWithDefault<T> = ColumnType<T, JsonText<T> | undefined, JsonText<T>>;
/** A jsonb column that may be null. */
export type JsonOrNull<T> = ColumnType<T | null, JsonText<T> | null | undefined, JsonText<T> | null>;
/** A column with a default of the database. */
export type WithDefault<T> = Generated<T>;
/** A column that may be null. */
export type OrNull<T> = ColumnType<T | null, T | null | undefined, T | null>;
/** A timestamptz column. */
export type Time = Date;
/** A time with a default of the database. */
export type TimeWithDefault = ColumnType<Date, Date | undefined, Date>;

/** A JSON object of any shape. */
export type JsonObject = Readonly<Record<string, unknown>>;
