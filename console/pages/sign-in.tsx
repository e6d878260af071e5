import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, type RefObject, useEffect, useRef, useState } from 'react';
import { ApiFailure, send } from '#console/api/client.ts';
import { endedSession } from '#console/api/session.ts';
import { signInAs } from '#console/api/sign-in.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { TextField } from '#console/components/field.tsx';
import { Spinner } from '#console/components/spinner.tsx';
import { FirstClient } from './first-client.tsx';
import SetUp from './set-up.tsx';

/** `#code=…` of the link that signs in once. It is taken out of the address, and so out of the history. */
function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** @throws ApiFailure if the code was used before or has expired */
async function exchange(code: string): Promise<{ token: string; workspaceId: string }> {
  const response = await send('POST', '/api/console/session', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ code }),
  });
  return (await response.json()) as { token: string; workspaceId: string };
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

type Options = {
  method: 'setup' | 'provider' | 'email' | 'token' | 'credential';
  sessionId: string | null;
  /** The agency of the session has no client yet. */
  needsClient?: true;
};

/** How people sign in here, and the session that the browser has. @throws ApiFailure */
const readOptions = async (): Promise<Options> =>
  (await (await send('GET', '/auth/session')).json()) as Options;

export default function SignIn() {
  const [options, setOptions] = useState<Options>();
  const [isExchanging, setExchanging] = useState(code !== null);
  const [error, setError] = useState<string>();

  const apply = (read: Options): void => {
    setOptions(read);
    if (read.sessionId !== null && !read.needsClient)
      void signInAs({ token: null, sessionId: read.sessionId, workspaceId: null });
  };
  const fail = (failure: unknown): void => setError(reasonOf(failure));

  useEffect(() => {
    document.title = `${t`Sign in`} · Linepace`;
    readOptions().then(apply, fail);
    // Whoever has signed in in another tab need not do so here.
    const look = (): void => void readOptions().then(apply, () => null);
    window.addEventListener('focus', look);
    const stop = (): void => window.removeEventListener('focus', look);
    const given = code;
    code = null;
    if (given === null) return stop;
    exchange(given)
      .then(({ token, workspaceId }) => signInAs({ token, workspaceId }))
      .catch(() => {
        setError(t`This link was used before or has expired.`);
        setExchanging(false);
      });
    return stop;
  }, []);

  if (options?.method === 'setup') return <SetUp />;
  if (options?.needsClient && options.sessionId !== null)
    return <FirstClient sessionId={options.sessionId} />;
  return (
    <main className="flex min-h-full items-center justify-center px-4 py-12">
      <div className="w-full max-w-sm">
        <img src="/console/assets/icon.svg" alt="" className="mb-6 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">
          <Trans>Sign in to Linepace</Trans>
        </h1>
        {endedSession() && (
          <p role="status" className="mt-1.5 text-warn">
            <Trans>Your session ended. What you were writing is kept in this tab.</Trans>
          </p>
        )}
        {options?.method === 'provider' ? (
          <AtProvider failure={error} />
        ) : options?.method === 'email' ? (
          <ByEmail failure={error} onSignedIn={() => void readOptions().then(apply, fail)} />
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

/** Whoever still writes on the page that is gone pauses before they read this one. */
const STILL_TYPING_MS = 1000;

/** Whoever was writing when the session ended goes on by keyboard, once nothing more is typed that was meant for their text. */
function useFirstField(): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (!endedSession()) return undefined;
    const focus = (): void => {
      if (document.activeElement === document.body) form.current?.querySelector('input')?.focus();
    };
    let timer = setTimeout(focus, STILL_TYPING_MS);
    const wait = (): void => {
      clearTimeout(timer);
      timer = setTimeout(focus, STILL_TYPING_MS);
    };
    window.addEventListener('keydown', wait);
    return () => {
      clearTimeout(timer);
      window.removeEventListener('keydown', wait);
    };
  }, []);
  return form;
}

/** Sends JSON without a credential. @throws ApiFailure */
const post = (path: string, body: unknown): Promise<Response> =>
  send('POST', path, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** Asks the authenticator, and signs in with its answer. @throws ApiFailure, or what the browser throws */
async function signInWithPasskey(): Promise<void> {
  const { startAuthentication } = await import('@simplewebauthn/browser');
  const { options } = (await (await post('/api/sign-in/passkeys/options', {})).json()) as {
    options: Parameters<typeof startAuthentication>[0]['optionsJSON'];
  };
  const response = await startAuthentication({ optionsJSON: options });
  await post('/api/sign-in/passkeys/verify', { response });
}

function linkRefusal(error: unknown): string {
  if (error instanceof ApiFailure && error.status === 429)
    return t`Too many links were asked for. Try again later.`;
  if (error instanceof ApiFailure && error.status === 400) return t`This is not an email address.`;
  return reasonOf(error);
}

/** With a link by email or a passkey. */
function ByEmail({ failure, onSignedIn }: { failure: string | undefined; onSignedIn: () => void }) {
  const form = useFirstField();
  const [email, setEmail] = useState('');
  const [sentTo, setSentTo] = useState<string>();
  const [busy, setBusy] = useState<'link' | 'passkey'>();
  const [refusal, setRefusal] = useState<string>();
  const [passkeyRefusal, setPasskeyRefusal] = useState<string>();

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy('link');
    setRefusal(undefined);
    try {
      await post('/api/sign-in/link', { email });
      setSentTo(email);
    } catch (error) {
      setRefusal(linkRefusal(error));
    }
    setBusy(undefined);
  };
  const withPasskey = async (): Promise<void> => {
    setBusy('passkey');
    setPasskeyRefusal(undefined);
    try {
      await signInWithPasskey();
      onSignedIn();
    } catch {
      setPasskeyRefusal(t`You were not signed in. Try again, or use a link by email.`);
    }
    setBusy(undefined);
  };

  if (sentTo !== undefined)
    return (
      <>
        <p role="status" className="mt-1.5 mb-6 text-muted">
          <Trans>
            If <b>{sentTo}</b> has an account, an email with a link is on its way. Open it in this browser
            within 15 minutes.
          </Trans>
        </p>
        <Button onClick={() => setSentTo(undefined)}>
          <Trans>Use another address</Trans>
        </Button>
      </>
    );
  return (
    <>
      <p className="mt-1.5 text-muted">
        <Trans>You get a link by email that signs in this browser.</Trans>
      </p>
      <form
        ref={form}
        className="mt-6 flex flex-col gap-4"
        noValidate
        onSubmit={(event) => void submit(event)}
      >
        <TextField
          label={t`Email address`}
          type="email"
          autoComplete="email"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={refusal ?? failure}
          required
        />
        <Button kind="primary" type="submit" busy={busy === 'link'} disabled={email.trim() === ''}>
          <Trans>Email me a link</Trans>
        </Button>
      </form>
      <div className="mt-6 flex flex-col gap-2 border-t border-line pt-6">
        <Button busy={busy === 'passkey'} onClick={() => void withPasskey()}>
          <Trans>Sign in with a passkey</Trans>
        </Button>
        {passkeyRefusal !== undefined && (
          <p role="alert" className="text-bad">
            {passkeyRefusal}
          </p>
        )}
      </div>
    </>
  );
}

function WithCredential({
  keys,
  busy: isBusy,
  failure,
}: {
  keys: boolean;
  busy: boolean;
  failure: string | undefined;
}) {
  const form = useFirstField();
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
      await signInAs({ token, workspaceId: null });
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
      <form ref={form} className="mt-6 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
        <TextField
          label={keys ? t`Workspace key` : t`Session token`}
          type="password"
          autoComplete="off"
          spellCheck={false}
          placeholder={keys ? 'svc_…' : 'eyJ…'}
          className="font-mono"
          value={credential}
          onChange={(event) => {
            setCredential(event.target.value);
            setRefusal(undefined);
          }}
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
