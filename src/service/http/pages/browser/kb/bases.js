import { byId, element } from "../page/elements.js";
import { show } from "./attempt.js";
import { isAdmin, link, openBase, state } from "./state.js";

/** @typedef {import("./state.js").ReadableBase} ReadableBase */

/** Shows every knowledge base that the person may read. @param {readonly ReadableBase[]} databases */
export function showBases(databases) {
  state.base = undefined;
  show("bases");
  byId("base-list").replaceChildren(...databases.map(showEntry));
  byId("no-bases").hidden = databases.length > 0;
  byId("create").hidden = !isAdmin();
}

/** @param {ReadableBase} base */
function showEntry({ kb_id: id, name, description, file_count: files, kb_type: type }) {
  const item = element("li");
  const to = element("a", name);
  to.href = link(id);
  const about = type === "local" ? files + (files === 1 ? " file" : " files") : "content of " + type;
  item.append(to, element("p", description === "" ? about : about + " · " + description, "about"));
  return item;
}

/** Shows the open knowledge base, with what this person may do there. */
export function showBase() {
  const base = openBase();
  show("base");
  document.title = base.name + " · Knowledge bases";
  byId("base-name").textContent = base.name;
  byId("base-about").textContent = base.description;
  byId("documents").hidden = !base.supports_documents;
  byId("upload").hidden = !base.can_manage || !isAdmin();
  byId("work").hidden = !base.can_manage;
}
