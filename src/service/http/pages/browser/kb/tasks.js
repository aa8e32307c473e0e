import { byId, element } from "../page/elements.js";
import { call } from "../page/service.js";
import { button, replaceEntries } from "./attempt.js";
import { openBase, state } from "./state.js";

/**
 * @typedef {import("../../../../protocol/tasks.ts").Task} Task
 * @typedef {{ tasks: readonly Task[] }} TaskList
 */

/**
 * Shows the last tasks on knowledge bases.
 *
 * @param {number} mine - the view they are for
 * @param {() => Promise<void>} refresh - after one was cancelled
 * @returns whether one is open
 */
export async function showTasks(mine, refresh) {
  if (!openBase().can_manage) return false;
  /** @type {TaskList} */
  const { tasks } = await call("GET", "/api/tasks?limit=50");
  if (mine !== state.view) return false;
  const shown = tasks.filter(({ kind }) => kind.startsWith("knowledge_")).slice(0, 10);
  byId("work").hidden = shown.length === 0;
  replaceEntries(
    byId("task-list"),
    shown.map((task) => showTask(task, refresh)),
  );
  return shown.some(isOpen);
}

/** @param {Task} task */
const isOpen = ({ status }) => status === "pending" || status === "running";

/**
 * @param {Task} task
 * @param {() => Promise<void>} refresh
 */
function showTask(task, refresh) {
  const { id, name, status, progress, message, error } = task;
  const item = element("li");
  const hasFailed = status === "failed";
  item.append(element("span", name), " ", element("span", status, hasFailed ? "state fault" : "state"));
  const words = error?.message ?? message;
  if (words !== "") item.append(element("p", words, "about"));
  if (!isOpen(task)) return item;
  const bar = element("progress");
  bar.max = 100;
  bar.value = progress;
  bar.setAttribute("aria-label", "Progress of " + name);
  const cancel = button("Cancel", "Cancel " + name, async () => {
    await call("POST", "/api/tasks/" + encodeURIComponent(id) + "/cancel");
    await refresh();
  });
  cancel.dataset["key"] = "cancel " + id;
  item.append(bar, cancel);
  return item;
}
