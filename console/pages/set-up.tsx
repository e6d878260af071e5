import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiFailure, send } from '#console/api/client.ts';
import { setSession } from '#console/api/session.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { ZoneAndCountry } from '#console/components/zone-and-country.tsx';
import { enteredIn } from '#console/lib/form.ts';

const FIELDS = [
  'code',
  'workspaceName',
  'timezone',
  'country',
  'agencyName',
  'owner.email',
  'owner.firstName',
  'owner.lastName',
];

/** Signs in with the cookie that the response has set; with its token where the browser keeps no cookie, as without https. */
async function openSession(response: Response): Promise<void> {
  const { token } = (await response.json()) as { token: string };
  const { sessionId } = (await (await send('GET', '/auth/session')).json()) as { sessionId: string | null };
  setSession(
    sessionId === null ? { token, workspaceId: null } : { token: null, sessionId, workspaceId: null },
  );
}

/** The body of the request, whose names are those of the fields: `owner.email`. */
function bodyOf(form: HTMLFormElement): string {
  const {
    'owner.email': email,
    'owner.firstName': firstName,
    'owner.lastName': lastName,
    ...rest
  } = enteredIn(form);
  return JSON.stringify({ ...rest, owner: { email, firstName, lastName } });
}

function errorOf(failure: unknown): unknown {
  if (!(failure instanceof ApiFailure)) return new Error(t`Something went wrong. Try again.`);
  if (failure.status === 401)
    return new Error(t`The code is wrong, or it has expired. The newest one counts.`);
  return failure;
}

/** The only page of an installation without an owner: makes the first workspace, and signs its owner in. */
export default function SetUp() {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  useEffect(() => {
    document.title = `${t`Set up`} · Linepace`;
  }, []);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const body = bodyOf(event.currentTarget);
    setBusy(true);
    setError(undefined);
    try {
      const headers = { 'Content-Type': 'application/json' };
      await openSession(await send('POST', '/api/setup', { headers, body }));
    } catch (failure) {
      // Somebody else was faster: the page of people who sign in.
      if (failure instanceof ApiFailure && failure.code === 'ALREADY_SET_UP') location.reload();
      else setError(errorOf(failure));
    } finally {
      setBusy(false);
    }
  };
  const issue = (path: string): string | undefined => issueOf(error, path);

  return (
    <main className="flex min-h-full items-center justify-center px-4 py-12">
      <div className="w-full max-w-md">
        <img src="/console/assets/icon.svg" alt="" className="mb-6 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">
          <Trans>Set up Linepace</Trans>
        </h1>
        <p className="mt-1.5 text-muted">
          <Trans>
            Nobody owns this installation yet. The code is in the log of the API;{' '}
            <code>npm run ops -- setup-code</code> prints a new one.
          </Trans>
        </p>
        <form className="mt-6 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
          <TextField
            label={t`Setup code`}
            name="code"
            autoComplete="off"
            spellCheck={false}
            className="font-mono"
            required
            error={issue('code')}
          />
          <TextField
            label={t`Name of the workspace`}
            name="workspaceName"
            maxLength={200}
            required
            error={issue('workspaceName')}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <ZoneAndCountry issue={issue} />
          </div>
          <TextField
            label={t`Your email address`}
            name="owner.email"
            type="email"
            autoComplete="email"
            required
            error={issue('owner.email')}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <TextField
              label={t`First name (optional)`}
              name="owner.firstName"
              autoComplete="given-name"
              maxLength={100}
              error={issue('owner.firstName')}
            />
            <TextField
              label={t`Last name (optional)`}
              name="owner.lastName"
              autoComplete="family-name"
              maxLength={100}
              error={issue('owner.lastName')}
            />
          </div>
          <TextField
            label={t`Name of your agency (optional)`}
            name="agencyName"
            maxLength={200}
            hint={t`An agency has a workspace for each of its clients.`}
            error={issue('agencyName')}
          />
          <FormError>{generalErrorOf(error, FIELDS)}</FormError>
          <div>
            <Button kind="primary" type="submit" busy={isBusy}>
              <Trans>Set up</Trans>
            </Button>
          </div>
        </form>
      </div>
    </main>
  );
}
