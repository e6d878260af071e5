import { type FormEvent, useEffect, useState } from 'react';
import { ApiFailure, send } from '#console/api/client.ts';
import { setSession } from '#console/api/session.ts';
import { Button } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';
import { Spinner } from '#console/components/spinner.tsx';

/** `#code=…` of the link that signs in once. It is taken out of the address, and so out of the history. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** @throws ApiFailure if the code was used before or has expired */
async function exchange(code: string): Promise<string> {
  const response = await send('POST', '/api/console/session', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return ((await response.json()) as { token: string }).token;
}

/** @throws ApiFailure if the credential is refused */
async function verify(token: string): Promise<void> {
  await send('GET', '/api/workspace', { headers: { Authorization: `Bearer ${token}` } });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ApiFailure)) return 'Something went wrong. Try again.';
  if (error.status === 401) return 'This key is not valid, or it was revoked.';
  if (error.code === 'AGENCY_KEY_WRONG_ENDPOINT')
    return 'This is an agency key. Sign in with a key of one workspace, or with a session token.';
  return error.message;
}

// Read once: React may render twice.
let code = takeCode();

export default function SignIn() {
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(code !== null);
  const [error, setError] = useState<string>();

  useEffect(() => {
    document.title = 'Sign in · Linepace';
    const given = code;
    code = null;
    if (given === null) return;
    exchange(given)
      .then((token) => setSession({ token, workspaceId: null }))
      .catch(() => {
        setError('This link was used before or has expired. Sign in with a key instead.');
        setBusy(false);
      });
  }, []);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = key.trim();
    setBusy(true);
    try {
      await verify(token);
      setSession({ token, workspaceId: null });
    } catch (failure) {
      setError(reasonOf(failure));
      setBusy(false);
    }
  };

  return (
    <main className="flex min-h-full items-center justify-center px-4 py-12">
      <div className="w-full max-w-sm">
        <img src="/console/assets/icon.svg" alt="" className="mb-6 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">Sign in to Linepace</h1>
        <p className="mt-1.5 text-muted">
          Paste a workspace key or a session token. It stays in this tab, and is forgotten when you close it.
        </p>
        <form className="mt-6 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
          <TextField
            label="Workspace key"
            type="password"
            autoComplete="off"
            spellCheck={false}
            placeholder="svc_…"
            className="font-mono"
            value={key}
            onChange={(event) => setKey(event.target.value)}
            error={error}
            required
          />
          <Button kind="primary" type="submit" busy={busy} disabled={key.trim() === ''}>
            Sign in
          </Button>
        </form>
        {busy && code !== null && (
          <p role="status" className="mt-4 flex items-center gap-2 text-muted">
            <Spinner /> Signing in with your link
          </p>
        )}
        <p className="mt-8 text-[0.8125rem] text-muted">
          An admin creates keys in the settings of a workspace. On your own machine, <code>npm start</code>{' '}
          prints a link that signs in to the demo.
        </p>
      </div>
    </main>
  );
}
