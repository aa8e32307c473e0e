import { htmlPage, LOGIN_FIELDS, STATUS } from "./html-page.ts";

/** The page `/cli`, where a person approves the login of a command-line client. */
export const CLI_HTML = htmlPage({
  title: "Approve a login",
  path: "/cli",
  body: `<main>
<h1>Approve a login</h1>
${STATUS}<form id="login">
<p>A command-line client asks to act as you. Log in, then compare the code with the one it shows.</p>
${LOGIN_FIELDS}</form>
<form id="find" hidden>
<label for="code">Code that the client shows</label>
<input id="code" name="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20" placeholder="XXXX-XXXX">
<button type="submit">Continue</button>
</form>
<section id="decide" hidden>
<dl>
<dt>Code</dt><dd id="shown-code"></dd>
<dt>Client</dt><dd id="client"></dd>
<dt>Asked from</dt><dd id="ip"></dd>
<dt>Asked at</dt><dd id="asked"></dd>
</dl>
<p>Approve only what you have started yourself: the client gets an API key with all that you may do.</p>
<button id="approve" type="button">Approve</button>
<button id="deny" type="button" class="second">Deny</button>
</section>
</main>
`,
});
