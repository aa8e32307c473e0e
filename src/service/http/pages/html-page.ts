/** One page for people. */
export interface HtmlPage {
  readonly title: string;
  /** Where it is; its program and its style are `page.js` and `page.css` below that. */
  readonly path: string;
  readonly body: string;
}

/** What a page reports: `showStatus` of `browser/page/elements.js` writes here. */
export const STATUS = `<noscript><p class="fault">This page needs JavaScript.</p></noscript>
<p id="status" role="status" aria-live="polite"></p>
`;

/** Of a form of the id `login`, which `browser/page/log-in.js` reads. */
export const LOGIN_FIELDS = `<label for="username">Username</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000">
<button type="submit">Log in</button>
`;

/** A whole page. Nothing of it comes from elsewhere, and nothing of it is a program: the policy of its answer forbids both. */
export function htmlPage({ title, path, body }: HtmlPage): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="stylesheet" href="${path}/page.css">
<script src="${path}/page.js" type="module"></script>
</head>
<body>
${body}</body>
</html>
`;
}
