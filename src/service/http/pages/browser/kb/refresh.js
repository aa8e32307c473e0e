import { byId } from "../page/elements.js";
import { attempt } from "./attempt.js";
import { showFiles } from "./files.js";
import { state } from "./state.js";
import { showTasks } from "./tasks.js";

const POLL_MS = 1500;

/** Shows files and tasks, again and again while something is at work. @param {number} mine - the view they are for */
export async function refresh(mine) {
  // Files after tasks: what a task that has ended did to them is shown.
  const isBusy = [await showTasks(mine, refreshView), await showFiles(mine, refreshView)].some(Boolean);
  if (mine !== state.view || byId("base").hidden) return;
  clearTimeout(state.timer);
  if (isBusy) state.timer = setTimeout(() => void attempt(() => refresh(mine)), POLL_MS);
}

/** Of what is shown now. */
export const refreshView = () => refresh(state.view);

/** Shows files alone: the filter has changed, or more are asked for. */
export async function refreshFiles() {
  await showFiles(state.view, refreshView);
}
