import { htmlPage, LOGIN_FIELDS, STATUS } from "./html-page.ts";

/** The page `/kb`: knowledge bases, their files, queries and tasks. */
export const KB_HTML = htmlPage({
  title: "Knowledge bases",
  path: "/kb",
  body: `<header>
<h1><a href="#/">Knowledge bases</a></h1>
<p id="who" hidden><span id="user"></span> <button id="logout" type="button" class="small second">Log out</button></p>
</header>
<main>
${STATUS}
<form id="login" hidden>
${LOGIN_FIELDS}</form>

<section id="bases" hidden aria-label="Knowledge bases">
<ul id="base-list" class="cards"></ul>
<p id="no-bases" hidden>There is no knowledge base you may read.</p>
<form id="create" hidden>
<h2>New knowledge base</h2>
<label for="new-name">Name</label>
<input id="new-name" required maxlength="200" autocomplete="off">
<button type="submit">Create</button>
</form>
</section>

<section id="base" hidden aria-labelledby="base-name">
<h2 id="base-name" tabindex="-1"></h2>
<p id="base-about" class="about"></p>
<form id="search" role="search">
<label for="query">Ask</label>
<div class="row"><input id="query" type="search" required maxlength="4000" autocomplete="off"><button type="submit">Search</button></div>
</form>
<section id="hits" hidden aria-labelledby="hits-title">
<h3 id="hits-title" tabindex="-1"></h3>
<ol id="hit-list"></ol>
</section>
<section id="documents" hidden aria-labelledby="files-title">
<h3 id="files-title">Files</h3>
<form id="upload" hidden>
<label id="drop" for="files"><strong>Drop files here</strong>, or choose them: they are uploaded, parsed and indexed</label>
<input id="files" type="file" multiple>
<ul id="uploads" aria-live="polite"></ul>
</form>
<label for="filter">Part of a name</label>
<input id="filter" type="search" maxlength="255" autocomplete="off">
<p id="file-count" class="about"></p>
<ul id="file-list" class="cards"></ul>
<button id="more-files" type="button" class="second" hidden>Show more files</button>
</section>
<section id="work" hidden aria-labelledby="tasks-title">
<h3 id="tasks-title">Tasks</h3>
<ul id="task-list" class="cards"></ul>
</section>
</section>

<section id="file" hidden aria-labelledby="file-name">
<p><a id="back" href="#/">Back</a></p>
<h2 id="file-name" tabindex="-1"></h2>
<form id="find" role="search">
<label for="pattern">Find in this file</label>
<div class="row"><input id="pattern" type="search" required maxlength="500" autocomplete="off"><button type="submit">Find</button></div>
<label class="check"><input id="is-regex" type="checkbox"> regular expression</label>
</form>
<section id="matches" hidden aria-labelledby="matches-title">
<h3 id="matches-title" tabindex="-1"></h3>
<ol id="match-list"></ol>
<button id="more-matches" type="button" class="second" hidden>Show more places</button>
</section>
<p id="file-lines" class="about"></p>
<button id="earlier" type="button" class="second">Earlier lines</button>
<ol id="lines" tabindex="0" aria-label="Lines of the file"></ol>
<button id="later" type="button" class="second">Later lines</button>
</section>
</main>
`,
});
