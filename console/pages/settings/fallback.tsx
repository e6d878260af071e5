import { t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import type { RequestTo, ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import {
  FormError,
  generalErrorOf,
  issueOf,
  SelectField,
  TextAreaField,
  TextField,
} from '#console/components/field.tsx';
import { Card } from '#console/components/page.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast, toastError } from '#console/components/toast.tsx';
import { useEdits } from '#console/lib/unsent.ts';

type Config = NonNullable<ResponseOf<'GET /api/workspace/fallback-config'>['config']>;
type Patch = NonNullable<RequestTo<'PATCH /api/workspace/fallback-config'>['body']>;

const TEXTS = ['accountSid', 'fromNumber', 'messagingServiceSid', 'defaultMessage'] as const;
const FIELDS = ['enabled', 'provider', 'authToken', ...TEXTS];
const providers = () => [
  { value: 'twilio', label: 'Twilio' },
  { value: 'simulated', label: t`Simulated, for tests` },
];
const states = () => [
  { value: 'true', label: t`On` },
  { value: 'false', label: t`Off` },
];

/** The account that sends an SMS where the line's own channel does not reach a contact. */
export default function Fallback() {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  const { data, error, refetch } = useRead('GET /api/workspace/fallback-config', {});
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows />;
  if (!isAdmin) {
    return (
      <EmptyState title={data.config?.enabled ? t`The SMS fallback is on` : t`The SMS fallback is off`}>
        <Trans>Only an owner or admin of the workspace changes it.</Trans>
      </EmptyState>
    );
  }
  return <Form key={JSON.stringify(data.config)} config={data.config} />;
}

type Values = Record<'enabled' | 'provider' | (typeof TEXTS)[number], string>;

const valuesOf = (config: Config | null): Values => ({
  enabled: String(config?.enabled ?? false),
  // In test mode it cannot be changed.
  provider: config?.provider === 'simulated' ? 'simulated' : 'twilio',
  accountSid: config?.accountSid ?? '',
  fromNumber: config?.fromNumber ?? '',
  messagingServiceSid: config?.messagingServiceSid ?? '',
  defaultMessage: config?.defaultMessage ?? '',
});

/** What the API takes; without an account SID that was never entered, which has no empty value. */
function patchOf(values: Values, authToken: string): Patch {
  const text = (name: (typeof TEXTS)[number]): string | null => values[name].trim() || null;
  const accountSid = text('accountSid');
  return {
    enabled: values.enabled === 'true',
    provider: values.provider as Exclude<Config['provider'], 'test'>,
    fromNumber: text('fromNumber'),
    messagingServiceSid: text('messagingServiceSid'),
    defaultMessage: text('defaultMessage'),
    ...(accountSid !== null && { accountSid }),
    ...(authToken !== '' && { authToken }),
  };
}

function Form({ config }: { config: Config | null }) {
  const { t } = useLingui();
  const initial = valuesOf(config);
  const edits = useEdits('SMS fallback', initial);
  const { values, change, forget } = edits;
  // A secret is not kept.
  const [authToken, setAuthToken] = useState('');
  const save = useWrite('PATCH /api/workspace/fallback-config', {
    refresh: ['GET /api/workspace/fallback-config'],
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    // A replaced token is not available, and an account cannot be removed.
    const canUndo = config !== null && authToken === '' && (config.accountSid ?? '') !== '';
    save.mutate(
      { query: { refuseUnknownFields: 'true' }, body: patchOf(values, authToken) },
      {
        onSuccess: () => {
          setAuthToken('');
          forget();
          toast(t`The SMS fallback was saved`, {
            ...(canUndo && {
              undo: () => save.mutate({ body: patchOf(initial, '') }, { onError: toastError }),
            }),
          });
        },
      },
    );
  };
  const field = (name: keyof Values) => ({
    value: values[name],
    onChange: ({ target }: { target: { value: string } }) => change({ [name]: target.value }),
    error: issueOf(save.error, name),
  });
  const isChanged = authToken !== '' || edits.isChanged;
  return (
    <KeptForm edits={edits} className="flex flex-col gap-3" onSubmit={submit}>
      <Card title={t`SMS fallback`}>
        <div className="grid gap-4 p-4 sm:grid-cols-2">
          <SelectField label={t`State`} options={states()} {...field('enabled')} />
          <SelectField label={t`Provider`} options={providers()} {...field('provider')} />
          {values.provider === 'twilio' && (
            <>
              <TextField label={t`Account SID`} autoComplete="off" {...field('accountSid')} />
              <TextField
                label={t`Auth token`}
                type="password"
                autoComplete="off"
                hint={t`Stored encrypted and never shown again. Empty: it stays as it is.`}
                value={authToken}
                onChange={(event) => setAuthToken(event.target.value)}
                error={issueOf(save.error, 'authToken')}
              />
              <TextField label={t`From number`} inputMode="tel" {...field('fromNumber')} />
              <TextField
                label={t`Messaging service SID`}
                hint={t`In place of a number.`}
                {...field('messagingServiceSid')}
              />
            </>
          )}
          <div className="sm:col-span-2">
            <TextAreaField
              label={t`Default message`}
              hint={t`Sent for messages without a fallback text of their own. Empty: the message itself is sent.`}
              {...field('defaultMessage')}
            />
          </div>
          <div className="sm:col-span-2">
            <FormError>{generalErrorOf(save.error, FIELDS)}</FormError>
            <Button
              kind="primary"
              type="submit"
              busy={save.isPending}
              disabled={config !== null && !isChanged}
            >
              <Trans>Save</Trans>
            </Button>
          </div>
        </div>
      </Card>
    </KeptForm>
  );
}
