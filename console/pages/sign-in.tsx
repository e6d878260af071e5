import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiFailure, send } from '#console/api/client.ts';
import { setSession } from '#console/api/session.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';
import { Spinner } from '#console/components/spinner.tsx';
import SetUp from './set-up.tsx';

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
  if (!(error instanceof ApiFailure)) return t`Something went wrong. Try again.`;
  if (error.status === 401) return t`This key is not valid, or it was revoked.`;
  if (error.code === 'AGENCY_KEY_WRONG_ENDPOINT')
    return t`This is an agency key. Sign in with a key of one workspace, or with a session token.`;
  return error.message;
}

// Read once: React may render twice.
let code = takeCode();

type Options = { method: 'setup' | 'provider' | 'token' | 'credential'; sessionId: string | null };

/** How people sign in here, and the session that the browser has. @throws ApiFailure */
const readOptions = async (): Promise<Options> =>
  (await (await send('GET', '/auth/session')).json()) as Options;

export default function SignIn() {
  const [options, setOptions] = useState<Options>();
  const [isExchanging, setExchanging] = useState(code !== null);
  const [error, setError] = useState<string>();

  useEffect(() => {
    document.title = `${t`Sign in`} · Linepace`;
    readOptions().then(
      (read) => {
        setOptions(read);
        if (read.sessionId !== null)
          setSession({ token: null, sessionId: read.sessionId, workspaceId: null });
      },
      (failure: unknown) => setError(reasonOf(failure)),
    );
    const given = code;
    code = null;
    if (given === null) return;
    exchange(given)
      .then((token) => setSession({ token, workspaceId: null }))
      .catch(() => {
        setError(t`This link was used before or has expired.`);
        setExchanging(false);
      });
  }, []);

  if (options?.method === 'setup') return <SetUp />;
  return (
    <main className="flex min-h-full items-center justify-center px-4 py-12">
      <div className="w-full max-w-sm">
        <img src="/console/assets/icon.svg" alt="" className="mb-6 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">
          <Trans>Sign in to Linepace</Trans>
        </h1>
        {options?.method === 'provider' ? (
          <AtProvider failure={error} />
        ) : options ? (
          <WithCredential keys={options.method === 'credential'} busy={isExchanging} failure={error} />
        ) : (
          error !== undefined && (
            <p role="alert" className="mt-1.5 text-bad">
              {error}
            </p>
          )
        )}
        {isExchanging && (
          <p role="status" className="mt-4 flex items-center gap-2 text-muted">
            <Spinner /> <Trans>Signing in with your link</Trans>
          </p>
        )}
      </div>
    </main>
  );
}

/** A link, because the policy of the page lets forms lead nowhere. */
const AtProvider = ({ failure }: { failure: string | undefined }) => (
  <>
    <p className="mt-1.5 mb-6 text-muted">
      <Trans>You sign in with the account of your organization, and come back to this page.</Trans>
    </p>
    {failure !== undefined && (
      <p role="alert" className="mb-4 text-bad">
        {failure}
      </p>
    )}
    <a
      href={`/auth/sign-in?returnTo=${encodeURIComponent(location.pathname + location.search)}`}
      className={buttonClasses('primary')}
    >
      <Trans>Sign in</Trans>
    </a>
  </>
);

function WithCredential({
  keys,
  busy: isBusy,
  failure,
}: {
  keys: boolean;
  busy: boolean;
  failure: string | undefined;
}) {
  const [credential, setCredential] = useState('');
  const [isChecking, setChecking] = useState(false);
  const [refusal, setRefusal] = useState<string>();

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = credential.trim();
    if (!keys && token.startsWith('svc')) {
      setRefusal(t`Keys are for programs. Sign in with a session token.`);
      return;
    }
    setChecking(true);
    try {
      await verify(token);
      setSession({ token, workspaceId: null });
    } catch (failed) {
      setRefusal(reasonOf(failed));
      setChecking(false);
    }
  };

  return (
    <>
      <p className="mt-1.5 text-muted">
        {keys ? (
          <Trans>
            Paste a workspace key or a session token. It stays in this tab, and is forgotten when you close
            it.
          </Trans>
        ) : (
          <Trans>Paste a session token. It stays in this tab, and is forgotten when you close it.</Trans>
        )}
      </p>
      <form className="mt-6 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
        <TextField
          label={keys ? t`Workspace key` : t`Session token`}
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder={keys ? 'svc_…' : 'eyJ…'}
          className="font-mono"
          value={credential}
          onChange={(event) => setCredential(event.target.value)}
          error={refusal ?? failure}
          required
        />
        <Button kind="primary" type="submit" busy={isBusy || isChecking} disabled={credential.trim() === ''}>
          <Trans>Sign in</Trans>
        </Button>
      </form>
      <p className="mt-8 text-[0.8125rem] text-muted">
        {keys ? (
          <Trans>
            An admin creates keys in the settings of a workspace. On your own machine, <code>npm start</code>{' '}
            prints a link that signs in to the demo.
          </Trans>
        ) : (
          <Trans>
            Your identity provider issues it. With AUTH_CLIENT_ID, an operator has you sign in there instead.
          </Trans>
        )}
      </p>
    </>
  );
}
