// Logging in, with the token of a reader or operator.
import { html, useState } from "./vendor/htm-preact.js";
import { ask, loginPlace, placeBefore } from "./data.js";
import { Title, Trouble } from "./parts.js";

export function Login({ me, known }) {
  const [token, setToken] = useState(""), [name, setName] = useState(me?.by || ""), [error, setError] = useState("");
  const submit = async (e) => {
    e.preventDefault();
    setError("");
    try {
      known(await ask("login", { token: token.trim(), name }));
      if (location.hash === loginPlace) location.hash = placeBefore();
    } catch (failure) { setError(failure.message); }
  };
  return html`<${Title}>Log in<//>
    <form class="login" onSubmit=${submit}>
      <p class="quiet">Tokens are in the monitor's directory: <code>join-reader</code> lets you read, <code>join-operator</code> change parameters of programs, too.</p>
      <label>Your name <input type="text" name="name" autocomplete="username" maxlength="64" required value=${name} onInput=${(e) => setName(e.target.value)} /> <span class="quiet">stands beside what you change</span></label>
      <label>Token <input type="password" name="token" autocomplete="current-password" required value=${token} onInput=${(e) => setToken(e.target.value)} /></label>
      <p><button class="main" type="submit">Log in</button></p>
      <${Trouble} error=${error} />
    </form>`;
}

// Who is the corner of the page that says who is there.
export function Who({ me, known }) {
  const leave = async () => { try { await ask("logout", {}); } finally { known(await ask("me")); } };
  if (!me?.role) return null;
  return me.by ? html`<span>${me.by} (${me.role})</span> <button onClick=${leave}>Log out</button>` : html`<a href=${loginPlace}>Log in</a>`;
}
