import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIdentity } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast } from '#console/components/toast.tsx';
import type { Line } from '#console/lib/line.ts';
import { EmailAuthentication } from './email-authentication.tsx';
import { type Carrier, configOf, type Setting, settingsOf, valuesOf } from './carrier-settings.ts';
import { ConnectionChecks } from './connection-checks.tsx';
import { SettingField } from './setting-field.tsx';

type Connection = ResponseOf<'GET /api/lines/{id}/carrier'>['connection'];

/** Connects the line to a carrier: the form is the one that the carrier's own schema asks for. */
export function CarrierForm({ line }: { line: Line }) {
  const { t } = useLingui();
  const { caller } = useIdentity();
  const isAdmin = caller.role === null || caller.role === 'org:admin';
  const carriers = useRead('GET /api/lines/carriers', {}, { enabled: isAdmin });
  const connection = useRead(
    'GET /api/lines/{id}/carrier',
    { params: { id: line._id } },
    { enabled: isAdmin },
  );
  if (!isAdmin)
    return (
      <EmptyState title={t`For admins`}>
        <Trans>Only an owner or admin of the workspace connects carriers.</Trans>
      </EmptyState>
    );
  if (!carriers.data || !connection.data) {
    const error = carriers.error ?? connection.error;
    return error ? <ErrorState error={error} /> : <SkeletonRows rows={4} />;
  }
  const usable = carriers.data.carriers.filter(({ channels }) =>
    channels.includes(line.requestedChannelType),
  );
  return (
    <>
      <Form line={line} carriers={usable} connection={connection.data.connection} />
      {line.requestedChannelType === 'email' && line.email !== null && (
        <EmailAuthentication lineId={line._id} />
      )}
    </>
  );
}

function Form({
  line,
  carriers,
  connection,
}: {
  line: Line;
  carriers: readonly Carrier[];
  connection: Connection;
}) {
  const { t } = useLingui();
  const isKnown = carriers.some(({ provider }) => provider === connection.provider);
  const [provider, setProvider] = useState(isKnown ? connection.provider : (carriers[0]?.provider ?? ''));
  const [address, setAddress] = useState(connection.address ?? '');
  const [values, setValues] = useState<Record<string, string>>(
    valuesOf(connection.provider === provider ? connection.config : {}),
  );
  const connect = useWrite('PUT /api/lines/{id}/carrier', {
    refresh: [
      'GET /api/lines/{id}/carrier',
      'GET /api/lines/{id}/email-authentication',
      'GET /api/lines/by-user',
    ],
  });
  const chosen = carriers.find((carrier) => carrier.provider === provider);
  const settings = settingsOf(chosen?.settings ?? {});
  const fields = ['provider', 'address', ...settings.map(({ name }) => `config.${name}`)];

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    connect.mutate(
      {
        params: { id: line._id },
        body: { provider, ...(address !== '' && { address }), config: configOf(settings, values) },
      },
      { onSuccess: () => toast(t`The line sends through this carrier now`) },
    );
  };

  const advanced = settings.filter((setting) => setting.advanced);
  const field = (setting: Setting) => (
    <SettingField
      key={`${provider} ${setting.name}`}
      setting={setting}
      value={values[setting.name] ?? ''}
      onChange={(value) => setValues({ ...values, [setting.name]: value })}
      error={issueOf(connect.error, `config.${setting.name}`)}
    />
  );

  return (
    <form className="flex flex-col gap-4" onSubmit={submit}>
      <SelectField
        label={t`Carrier`}
        value={provider}
        options={carriers.map(({ provider: name, guide }) => ({ value: name, label: guide.title }))}
        onChange={(event) => {
          setProvider(event.target.value);
          setValues({});
          connect.reset();
        }}
        error={issueOf(connect.error, 'provider')}
      />
      <TextField
        label={line.requestedChannelType === 'email' ? t`Email address` : t`Phone number`}
        value={address}
        onChange={(event) => setAddress(event.target.value)}
        error={issueOf(connect.error, 'address')}
      />
      {settings.filter(({ advanced }) => !advanced).map(field)}
      {advanced.length > 0 && (
        <details
          open={
            advanced.some(({ name }) => values[name] || issueOf(connect.error, `config.${name}`)) || undefined
          }
        >
          <summary className="cursor-pointer rounded font-medium">
            <Trans>More settings</Trans>
          </summary>
          <div className="mt-3 flex flex-col gap-4">{advanced.map(field)}</div>
        </details>
      )}
      <FormError>{generalErrorOf(connect.error, fields)}</FormError>
      <p className="text-muted">
        <Trans>
          The settings are tested before anything changes. Messages that have not left are sent through the
          new carrier.
        </Trans>
      </p>
      <div>
        <Button kind="primary" type="submit" busy={connect.isPending}>
          {connect.isPending ? t`Testing the settings` : t`Connect`}
        </Button>
      </div>
      {isKnown && <TestConnection lineId={line._id} />}
      {isKnown && (
        <TextField
          label={t`Callback URL`}
          readOnly
          value={connection.callbackUrl}
          className="font-mono text-xs"
          hint={
            connection.callbackRegistered
              ? t`It is registered at the carrier, for replies and receipts.`
              : t`Register it at the carrier, so that replies and receipts arrive.`
          }
          onFocus={(event) => event.target.select()}
        />
      )}
    </form>
  );
}

/** What works of the connection that the line has. */
export function TestConnection({ lineId }: { lineId: string }) {
  const test = useWrite('POST /api/lines/{id}/carrier/test');
  return (
    <div className="flex flex-col items-start gap-3">
      <Button busy={test.isPending} onClick={() => test.mutate({ params: { id: lineId } })}>
        <Trans>Test the connection</Trans>
      </Button>
      <FormError>{test.error?.message}</FormError>
      <ConnectionChecks checks={test.data?.checks} />
    </div>
  );
}
