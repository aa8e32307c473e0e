import { useRef, useState } from "preact/hooks";
import { logIn, logOut } from "./connection.ts";
import { showFault } from "./dialogs/open-dialog.ts";
import { useModal } from "./dialogs/use-modal.ts";

/** Asks for the token, once: it is sent to turnd and kept nowhere. */
export function LoginPage() {
  return (
    <main class="login">
      <LoginForm>
        <h1>turnd</h1>
        <p>This turnd has a token. It is in the variable TURND_TOKEN, or in the file that TURND_TOKEN_FILE names.</p>
      </LoginForm>
    </main>
  );
}

/** Asks for the token over what is shown, which stays as it is. */
export function LoginDialog() {
  const element = useModal();
  return (
    <dialog
      ref={element}
      class="login-again"
      aria-label="Log in again"
      onCancel={(event) => event.preventDefault()}
      // A browser closes it all the same where Escape is pressed twice.
      onClose={() => element.current?.showModal()}
    >
      <LoginForm>
        <h2>Log in again</h2>
        <p>
          The login has ended: it lasts twelve hours, and ends when turnd is restarted. What you see and type is kept.
        </p>
      </LoginForm>
      <button type="button" class="quiet" onClick={leave}>
        Log out instead
      </button>
    </dialog>
  );
}

/** Logs out, or reports that it failed. */
export function leave(): void {
  logOut().catch(() => showFault("turnd does not answer: this browser is still logged in."));
}

function LoginForm({ children }: { readonly children: preact.ComponentChildren }) {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (field.current === null) return;
    setBusy(true);
    try {
      setFault((await logIn(field.current.value)) ?? "");
    } catch {
      setFault("turnd does not answer.");
    }
    setBusy(false);
    field.current?.select();
  }

  return (
    <form onSubmit={(event) => void submit(event)}>
      {children}
      <label for="token">Token</label>
      <input
        id="token"
        ref={field}
        type="password"
        autocomplete="current-password"
        required
        maxLength={4096}
        autoFocus
      />
      <button type="submit" disabled={isBusy}>
        Log in
      </button>
      <p role="alert" class="fault">
        {fault}
      </p>
    </form>
  );
}
