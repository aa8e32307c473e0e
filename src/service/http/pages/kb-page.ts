/** The page `/kb`: knowledge bases, their files, queries and tasks. Nothing of it comes from elsewhere. */
export const KB_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Knowledge bases</title>
<link rel="stylesheet" href="/kb/page.css">
<script src="/kb/page.js" type="module"></script>
</head>
<body>
<header>
<h1><a href="#/">Knowledge bases</a></h1>
<p id="who" hidden><span id="user"></span> <button id="logout" type="button" class="small second">Log out</button></p>
</header>
<main>
<noscript><p class="fault">This page needs JavaScript.</p></noscript>
<p id="status" role="status" aria-live="polite"></p>

<form id="login" hidden>
<label for="username">Username</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000">
<button type="submit">Log in</button>
</form>

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
<p id="file-lines" class="about"></p>
<button id="earlier" type="button" class="second">Earlier lines</button>
<ol id="lines" tabindex="0" aria-label="Lines of the file"></ol>
<button id="later" type="button" class="second">Later lines</button>
</section>
</main>
</body>
</html>
`;

export const KB_STYLE = `:root { font: 100%/1.5 system-ui, sans-serif; --line: #8886; --key: #0b57d0; --fault: #d93025; --mark: #fff3c4; --mark-text: #202124; }
* { box-sizing: border-box; }
body { margin: 0; }
header, main { max-width: 60rem; margin: 0 auto; padding: 0.75rem 1rem; }
header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: 0.5rem; border-bottom: 1px solid var(--line); }
header p { margin: 0; }
h1 { font-size: 1.25rem; margin: 0; }
h1 a { color: inherit; text-decoration: none; }
h2 { font-size: 1.25rem; overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin-top: 1.75rem; }
a { color: var(--key); }
label { display: block; margin-top: 0.75rem; font-weight: 600; }
input, button { min-height: 2.75rem; padding: 0.5rem 0.75rem; font: inherit; }
input { width: 100%; margin-top: 0.25rem; border: 1px solid var(--line); border-radius: 0.375rem; background: Field; color: FieldText; }
button { margin-top: 0.75rem; border: 0; border-radius: 0.375rem; background: var(--key); color: #fff; cursor: pointer; }
button.second { background: #5f6368; }
button.small { min-height: 2rem; margin: 0; padding: 0.25rem 0.75rem; }
button:disabled { opacity: 0.5; cursor: default; }
:focus-visible { outline: 3px solid #f29900; outline-offset: 2px; }
.row { display: flex; gap: 0.5rem; align-items: stretch; margin-top: 0.25rem; }
.row input, .row button { margin: 0; }
#login, #create { max-width: 28rem; }
#login button, #create button { width: 100%; }
#status:empty { display: none; }
#status { padding: 0.5rem 0.75rem; border-left: 4px solid var(--key); overflow-wrap: anywhere; }
#status.fault { border-color: var(--fault); }
.about { margin: 0.25rem 0; opacity: 0.8; overflow-wrap: anywhere; }
.cards { list-style: none; margin: 0.5rem 0; padding: 0; }
.cards > li { padding: 0.6rem 0; border-top: 1px solid var(--line); overflow-wrap: anywhere; }
.cards .actions { display: flex; flex-wrap: wrap; gap: 0.5rem; margin-top: 0.35rem; }
.state { display: inline-block; padding: 0 0.5rem; border: 1px solid currentcolor; border-radius: 1rem; font-size: 0.85rem; }
.state.fault { color: var(--fault); }
progress { width: 100%; }
#drop { padding: 1.25rem 1rem; border: 2px dashed var(--line); border-radius: 0.5rem; text-align: center; font-weight: 400; cursor: pointer; }
#drop.over { border-color: var(--key); background: #0b57d022; }
#uploads { list-style: none; padding: 0; }
#hit-list { padding-left: 1.5rem; }
#hit-list li { margin: 0.9rem 0; overflow-wrap: anywhere; }
#hit-list pre { margin: 0.25rem 0 0; padding: 0.5rem 0.75rem; border-left: 4px solid var(--line); white-space: pre-wrap; font: inherit; max-height: 12rem; overflow: auto; }
#lines { margin: 0.75rem 0; padding: 0; list-style: none; border: 1px solid var(--line); border-radius: 0.375rem; font-family: ui-monospace, monospace; font-size: 0.875rem; overflow-x: hidden; }
#lines li { display: grid; grid-template-columns: 4rem 1fr; white-space: pre-wrap; overflow-wrap: anywhere; }
#lines li::before { content: attr(data-line); padding-right: 0.75rem; text-align: right; opacity: 0.6; user-select: none; }
#lines li.hit { background: var(--mark); color: var(--mark-text); }
[hidden] { display: none !important; }
`;
