import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import type { CliBCase, Place } from "./case.ts";
import { answer, page, text, type Reply } from "./replies.ts";

/** What cases of the tenth set share. They are labelled by one who had read no rule, and before any was played. */
export const SAID = "All is well.";
export const END = answer(text(SAID));
export const IN_COMMAND = /"item\.started"/;

export const fine = (why: string, more: Partial<CliBCase["label"]> = {}): CliBCase["label"] => ({
  status: "completed",
  text: SAID,
  why,
  ...more,
});

/** A provider that does one thing whatever it is asked. */
export function refuses(
  name: string,
  code: FailureCode,
  why: string,
  reply: Reply,
  { label, ...more }: Partial<Omit<CliBCase, "label">> & { readonly label?: Partial<CliBCase["label"]> } = {},
): CliBCase {
  return { replies: [reply], ...more, name: `tenth-${name}`, label: { status: "failed", code, why, ...label } };
}

export const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  page(status, JSON.stringify(body), { "content-type": "application/json", ...headers });

/** Puts words behind `exec`, where its own options stand. */
export const early =
  (...words: readonly string[]) =>
  (args: readonly string[]): readonly string[] => [...args.slice(0, 1), ...words, ...args.slice(1)];

/** Puts words in the place of the last one, which stands for a prompt on stdin. */
export const instead =
  (...words: readonly string[]) =>
  (args: readonly string[]): readonly string[] => [...args.slice(0, -1), ...words];

/** Git refuses a directory of another user's. */
const own = ({ shell, workspace }: Place, command: string): void =>
  shell(`cd ${workspace} && chown 0:0 . && GIT_CONFIG_GLOBAL=/dev/null && export GIT_CONFIG_GLOBAL && ${command}
    chown -R 1000:1000 .`);

/** A repository with one commit and one change that is not committed. */
export const repository = (place: Place): void =>
  own(
    place,
    `git init -q . && printf 'a\nb\n' >list.txt && git add . &&
    git -c user.name=t -c user.email=t@t.invalid commit -qm 'add list' && echo c >>list.txt`,
  );

/** A repository without a commit, with one file that is to be the first. */
export const newRepository = (place: Place): void => own(place, "git init -q . && echo x >x.c && git add x.c");

/** Starts a command where no user namespace can be made. */
export const WITHOUT_NAMESPACES = [
  "unshare",
  "-U",
  "--map-current-user",
  "--keep-caps",
  "sh",
  "-c",
  'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"',
  "sh",
];
