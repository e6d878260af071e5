import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { type FormEvent, useEffect, useState } from 'react';
import { send } from '#console/api/client.ts';
import { setSession } from '#console/api/session.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { ZoneAndCountry } from '#console/components/zone-and-country.tsx';
import { enteredIn } from '#console/lib/form.ts';

const FIELDS = ['name', 'timezone', 'country'];

/** The only page of somebody whose agency has no client yet: creates the first one, and opens its workspace. */
export function FirstClient({ sessionId }: { sessionId: string }) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);

  useEffect(() => {
    document.title = `${t`First client`} · Linepace`;
  }, []);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const body = JSON.stringify(enteredIn(event.currentTarget));
    setBusy(true);
    setError(undefined);
    try {
      // It becomes the session of the tab once it has a workspace.
      const headers = { 'Content-Type': 'application/json', 'X-Console-Session': sessionId };
      await send('POST', '/api/agency/subaccounts', { headers, body });
      setSession({ token: null, sessionId, workspaceId: null });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const issue = (path: string): string | undefined => issueOf(error, path);

  return (
    <main className="flex min-h-full items-center justify-center px-4 py-12">
      <div className="w-full max-w-md">
        <img src="/console/assets/icon.svg" alt="" className="mb-6 size-10" />
        <h1 className="text-2xl font-semibold tracking-tight">
          <Trans>Your first client</Trans>
        </h1>
        <p className="mt-1.5 text-muted">
          <Trans>
            Your agency has no client yet. Each has a workspace of its own: its lines, contacts and messages
            are seen by nobody else.
          </Trans>
        </p>
        <form className="mt-6 flex flex-col gap-4" onSubmit={(event) => void submit(event)}>
          <TextField
            label={t`Name of the client`}
            name="name"
            maxLength={200}
            required
            error={issue('name')}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <ZoneAndCountry issue={issue} />
          </div>
          <FormError>{generalErrorOf(error, FIELDS)}</FormError>
          <Button kind="primary" type="submit" busy={isBusy}>
            <Trans>Create the client</Trans>
          </Button>
        </form>
      </div>
    </main>
  );
}
