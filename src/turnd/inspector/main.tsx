// eslint-disable-next-line import/no-unassigned-import -- for what it does, before anything else
import "./no-eval.ts";
import { render } from "preact";
import { App } from "./app.tsx";
// eslint-disable-next-line import/no-unassigned-import -- the bundler takes it
import "./style.css";

const page = document.querySelector("#page");
if (page === null) throw new Error("the page has no place for its content");
document.querySelector("#loading")?.remove();
render(<App />, page);
