import type { Logger } from "pino";
import type { Auth } from "../auth/auth.ts";
import type { Settings } from "../settings/settings.ts";

/** The superadmin `admin`, where a password file names one and no account exists yet. @returns whether it was made */
export async function makeAdministrator(
  { logins }: Auth,
  { adminPassword, values, isLoopback }: Settings,
  logger: Logger,
): Promise<boolean> {
  if (!(await logins.isFirstRun())) return false;
  if (adminPassword !== undefined) {
    await logins.initialize(
      { username: "admin", password: adminPassword, init_token: values.SERVICE_INIT_TOKEN },
      null,
    );
    logger.info("the superadmin admin was made with the password of SERVICE_ADMIN_PASSWORD_FILE");
    return true;
  }
  if (isLoopback || values.SERVICE_INIT_TOKEN !== undefined) return false;
  throw new Error(
    "this service is not initialised, and it listens beyond loopback: set SERVICE_INIT_TOKEN or SERVICE_ADMIN_PASSWORD_FILE",
  );
}
