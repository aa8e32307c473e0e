// Keys that a touch screen's keyboard lacks, as buttons below the terminal; Ctrl holds for the next key. Does not know the
// connection: what is pressed goes the way of what is typed.

/** The bytes of a key; of the arrows only the last letter, since the rest depends on the program's mode and on Ctrl. */
const KEYS = { esc: "\u001b", tab: "\t" };
const ARROWS = { up: "A", down: "B", right: "C", left: "D" };

/** Codes of Ctrl with what is no letter: space, `[`, `\`, `]`, `^`, `_`, `?`. */
const CTRL_CODES = {
  " ": "\u0000",
  "[": "\u001b",
  "\\": "\u001c",
  "]": "\u001d",
  "^": "\u001e",
  _: "\u001f",
  "?": "\u007f",
};

/**
 * Makes the buttons of a bar work.
 *
 * @param {HTMLElement} bar with buttons that have `data-key`
 * @param {import("@xterm/xterm").Terminal} terminal
 * @returns {(typed: string) => string} what a key sends: with Ctrl, where that is held
 */
export function connectKeys(bar, terminal) {
  const ctrl = bar.querySelector('[data-key="ctrl"]');
  const isHeld = () => ctrl.getAttribute("aria-pressed") === "true";
  const hold = (held) => ctrl.setAttribute("aria-pressed", String(held));

  bar.addEventListener("pointerdown", (event) => {
    // The focus stays where it is, or the screen's keyboard would go.
    event.preventDefault();
  });
  bar.addEventListener("click", ({ target }) => {
    const { key } = target.closest("button")?.dataset ?? {};
    if (key === undefined) return;
    if (key === "ctrl") hold(!isHeld());
    else if (key in ARROWS) terminal.input(arrow(ARROWS[key]));
    else terminal.input(KEYS[key]);
    terminal.focus();
  });

  function arrow(letter) {
    if (isHeld()) {
      hold(false);
      return `\u001b[1;5${letter}`;
    }
    return `\u001b${terminal.modes.applicationCursorKeysMode ? "O" : "["}${letter}`;
  }

  return (typed) => {
    // More than one character is pasted text, or an answer of the terminal itself.
    if (!isHeld() || typed.length !== 1) return typed;
    hold(false);
    if (/[a-z]/i.test(typed)) return String.fromCharCode(typed.toUpperCase().charCodeAt(0) - 64);
    return CTRL_CODES[typed] ?? typed;
  };
}

/**
 * Copies text where the page may use the clipboard, and otherwise as pages did before.
 *
 * @param {string} text
 * @returns {Promise<boolean>} whether it was copied
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Not a secure origin, or not allowed: a selection of a hidden field can be copied anywhere.
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "is-copied-from";
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
}
