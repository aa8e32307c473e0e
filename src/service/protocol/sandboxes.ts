import { z } from "zod";

/** Where turns run: `static` and `embedded` are turnds that stand, `docker` and `kubernetes` make one for each scope. */
export const SandboxKind = z.enum(["embedded", "static", "docker", "kubernetes"]);
export type SandboxKind = z.infer<typeof SandboxKind>;
