import { useState } from "preact/hooks";
import { logIn } from "./connection.ts";

/** Asks for the token, once: it is sent to turnd and kept nowhere. */
export function LoginPage() {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);

  async function submit(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    const field = document.querySelector<HTMLInputElement>("#token");
    if (field === null) return;
    setBusy(true);
    try {
      setFault((await logIn(field.value)) ?? "");
    } catch {
      setFault("turnd does not answer.");
    }
    setBusy(false);
    field.select();
  }

  return (
    <main class="login">
      <form onSubmit={(event) => void submit(event)}>
        <h1>turnd</h1>
        <p>This turnd has a token. It is in the variable TURND_TOKEN, or in the file that TURND_TOKEN_FILE names.</p>
        <label for="token">Token</label>
        <input id="token" type="password" autocomplete="current-password" required maxLength={4096} autoFocus />
        <button type="submit" disabled={isBusy}>
          Log in
        </button>
        <p role="alert" class="fault">
          {fault}
        </p>
      </form>
    </main>
  );
}
