import {
  findGroupPlaces,
  GroupsUnusableError,
  type GroupPlace,
} from "../../src/turnd/daemon/process/cgroup/cgroup-places.ts";

/**
 * Where this machine lets the tests make control groups; undefined where it does not, which the end of the run lists.
 *
 * Tests set limits in groups that they, or daemons of theirs, have made, and nowhere else.
 */
export const GROUP_PLACES: readonly GroupPlace[] | undefined = look();

function look(): readonly GroupPlace[] | undefined {
  try {
    return findGroupPlaces();
  } catch (error) {
    if (!(error instanceof GroupsUnusableError)) throw error;
    process.stderr.write(`SKIPPED, the tests of control groups: ${error.message}\n`);
    return undefined;
  }
}
