import { Trans, useLingui } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import type { FormEvent } from 'react';
import { useWrite } from '#console/api/queries.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { useEdits } from '#console/lib/unsent.ts';
import { Secret } from '#console/pages/webhooks/secret.tsx';
import { EVENT_NAMES } from '#console/pages/webhooks/webhook.ts';
import type { StepProps } from './step-props.ts';

const NOTHING = { url: '' };

/** Registers a URL for all events, and sends it a test event. */
export function WebhookStep({ done }: StepProps) {
  const { t } = useLingui();
  const edits = useEdits('first webhook', NOTHING);
  const { url } = edits.values;
  const create = useWrite('POST /api/webhooks', {
    refresh: ['GET /api/webhooks', 'GET /api/workspace/setup'],
  });
  const ping = useWrite('POST /api/webhooks/{id}/health-check');
  const created = create.data;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    create.mutate({ body: { url, events: [...EVENT_NAMES] } }, { onSuccess: edits.forget });
  };
  const { responseStatus: status, latencyMs: latency, error = null } = ping.data ?? {};
  const reason = error ?? t`status ${status}`;
  if (created)
    return (
      <div className="flex flex-col gap-4">
        <Secret secret={created.secret} />
        <div className="flex flex-wrap items-center gap-3">
          <Button busy={ping.isPending} onClick={() => ping.mutate({ params: { id: created.webhook._id } })}>
            <Trans>Send a test event</Trans>
          </Button>
          <p role="status" className={ping.data?.success ? 'text-good' : 'text-bad'}>
            {ping.error?.message ??
              (ping.data &&
                (ping.data.success
                  ? t`It answered ${status} in ${latency} ms.`
                  : t`It did not take the event: ${reason}.`))}
          </p>
        </div>
      </div>
    );
  return (
    <KeptForm edits={edits} className="flex flex-col gap-4" onSubmit={submit} noValidate>
      {done && (
        <p className="text-muted">
          <Trans>One is registered. You can add another.</Trans>
        </p>
      )}
      <TextField
        label="URL"
        type="url"
        required
        placeholder="https://example.com/webhooks"
        value={url}
        onChange={(event) => edits.change({ url: event.target.value })}
        hint={
          <Trans>
            It gets all events, as signed POST requests. Choose among them on{' '}
            <Link to="/webhooks" className="text-accent-ink underline">
              Webhooks
            </Link>
            .
          </Trans>
        }
        error={issueOf(create.error, 'url')}
      />
      <FormError>{generalErrorOf(create.error, ['url'])}</FormError>
      <div>
        <Button kind={done ? 'secondary' : 'primary'} type="submit" busy={create.isPending}>
          <Trans>Register</Trans>
        </Button>
      </div>
    </KeptForm>
  );
}
