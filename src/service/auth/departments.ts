import { sql, type Selectable } from "kysely";
import type { Department } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { Storage } from "../storage/storage.ts";
import type { Database } from "../storage/tables.ts";
import { sqlState, violatedConstraint } from "../storage/transaction.ts";
import type { KnownActor } from "./accounts.ts";
import { writeAudit } from "./audit.ts";
import { assertMayAny, PERMISSIONS } from "./permissions.ts";

/** Departments; only superadmins change them. */
export type Departments = ReturnType<typeof createDepartments>;

export function createDepartments(storage: Storage) {
  return {
    async list(page: { skip: number; limit: number }): Promise<{ departments: Department[]; total: number }> {
      const query = storage.db.selectFrom("department");
      const rows = await query.selectAll().orderBy("id").offset(page.skip).limit(page.limit).execute();
      const { total } = await query.select(sql<number>`count(*)::int`.as("total")).executeTakeFirstOrThrow();
      return { departments: rows.map(show), total };
    },

    async create(actor: KnownActor, name: string): Promise<Department> {
      assertMayAny(actor.caller, PERMISSIONS.changeDepartments);
      return storage.transaction(async (trx) => {
        try {
          const row = await trx.insertInto("department").values({ name }).returningAll().executeTakeFirstOrThrow();
          await writeAudit(trx, actor, {
            action: "department.created",
            subject: `department:${row.id}`,
            details: { name },
          });
          return show(row);
        } catch (error) {
          throw explain(error, name);
        }
      });
    },

    async update(actor: KnownActor, id: number, name: string): Promise<Department> {
      assertMayAny(actor.caller, PERMISSIONS.changeDepartments);
      return storage.transaction(async (trx) => {
        try {
          const row = await trx
            .updateTable("department")
            .set({ name })
            .where("id", "=", id)
            .returningAll()
            .executeTakeFirst();
          if (row === undefined) throw missing(id);
          await writeAudit(trx, actor, {
            action: "department.updated",
            subject: `department:${id}`,
            details: { name },
          });
          return show(row);
        } catch (error) {
          throw explain(error, name);
        }
      });
    },

    async remove(actor: KnownActor, id: number): Promise<void> {
      assertMayAny(actor.caller, PERMISSIONS.changeDepartments);
      await storage.transaction(async (trx) => {
        try {
          const row = await trx.deleteFrom("department").where("id", "=", id).returning("id").executeTakeFirst();
          if (row === undefined) throw missing(id);
          await writeAudit(trx, actor, { action: "department.deleted", subject: `department:${id}` });
        } catch (error) {
          if (sqlState(error) === "23503")
            throw new ApiProblem("department_in_use", "users or keys belong to this department");
          throw error;
        }
      });
    },
  };
}

function show({ id, name, created_at }: Selectable<Database["department"]>): Department {
  return { id, name, created_at: created_at.toISOString() };
}

function missing(id: number): ApiProblem {
  return new ApiProblem("department_not_found", `there is no department ${id}`);
}

function explain(error: unknown, name: string): unknown {
  if (violatedConstraint(error) !== "department_name_key") return error;
  return new ApiProblem("department_name_taken", `there is a department ${JSON.stringify(name)} already`);
}
