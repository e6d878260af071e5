import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useState } from 'react';
import { useRead, useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { useIsAdmin } from '#console/api/workspace.ts';
import { Button } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { EmptyState, ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { toast } from '#console/components/toast.tsx';
import type { Line } from '#console/lib/line.ts';
import { useEdits } from '#console/lib/unsent.ts';
import { guideOf } from './carrier-guides.ts';
import { type Carrier, configOf, type Setting, settingsOf, valuesOf } from './carrier-settings.ts';
import ConnectLine, { OnlyAdmins } from './connect-line.tsx';
import { TestConnection } from './connection-checks.tsx';
import { EmailAuthentication } from './email-authentication.tsx';
import { publicOf } from './line-draft.ts';
import { SettingField } from './setting-field.tsx';

type Connection = ResponseOf<'GET /api/lines/{id}/carrier'>['connection'];

const isWaiting = ({ requestedLineType, provisioningStatus: status }: Line): boolean =>
  requestedLineType === 'byo' && (status === 'provisioning' || status === 'failed');

/** Connects a line to its carrier, and changes the settings of one that is connected. */
export default function CarrierTab({ line, onShow }: { line: Line; onShow: () => void }) {
  const { t } = useLingui();
  const isAdmin = useIsAdmin();
  // Once connected, it says what is left to do.
  const [connects, setConnects] = useState(isWaiting(line));
  if (!connects && isWaiting(line)) setConnects(true);
  if (!isAdmin) return <OnlyAdmins />;
  if (connects) return <ConnectLine legend={t`Where messages leave from`} line={line} onShow={onShow} />;
  if (line.provisioningStatus !== 'active')
    return (
      <EmptyState title={t`Not set up yet`}>
        <Trans>Its carrier can be changed once the line is set up.</Trans>
      </EmptyState>
    );
  return <Connected line={line} />;
}

function Connected({ line }: { line: Line }) {
  const carriers = useRead('GET /api/lines/carriers', {});
  const connection = useRead('GET /api/lines/{id}/carrier', { params: { id: line._id } });
  if (!carriers.data || !connection.data) {
    const error = carriers.error ?? connection.error;
    return error ? <ErrorState error={error} /> : <SkeletonRows rows={4} />;
  }
  const usable = carriers.data.carriers.filter(({ channels }) =>
    channels.includes(line.requestedChannelType),
  );
  return (
    <>
      <CarrierForm line={line} carriers={usable} connection={connection.data.connection} />
      {line.requestedChannelType === 'email' && line.email !== null && (
        <EmailAuthentication lineId={line._id} />
      )}
    </>
  );
}

/** The form is the one that the carrier's own schema asks for. */
function CarrierForm({
  line,
  carriers,
  connection,
}: {
  line: Line;
  carriers: readonly Carrier[];
  connection: Connection;
}) {
  const { t } = useLingui();
  const carrierOf = (name: string): Carrier | undefined => carriers.find((one) => one.provider === name);
  const isKnown = carrierOf(connection.provider) !== undefined;
  const saved = {
    provider: isKnown ? connection.provider : (carriers[0]?.provider ?? ''),
    address: connection.address ?? '',
    values: isKnown ? valuesOf(connection.config) : {},
  };
  const form = useEdits(`carrier ${line._id}`, saved, (draft) => ({
    ...draft,
    values: publicOf(draft.values, carrierOf(draft.provider)),
  }));
  const { provider, address, values } = form.values;
  const { change } = form;
  const connect = useWrite('PUT /api/lines/{id}/carrier', {
    refresh: [
      'GET /api/lines/{id}/carrier',
      'GET /api/lines/{id}/email-authentication',
      'GET /api/lines/by-user',
    ],
  });
  const settings = settingsOf(carrierOf(provider));
  const fields = ['provider', 'address', ...settings.map(({ name }) => `config.${name}`)];

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    connect.mutate(
      {
        params: { id: line._id },
        body: { provider, ...(address !== '' && { address }), config: configOf(settings, values) },
      },
      {
        onSuccess: () => {
          form.forget();
          toast(t`The line sends through this carrier now`);
        },
      },
    );
  };

  const advanced = settings.filter((setting) => setting.advanced);
  const field = (setting: Setting) => (
    <SettingField
      key={`${provider} ${setting.name}`}
      setting={setting}
      value={values[setting.name] ?? ''}
      onChange={(value) => change({ values: { ...values, [setting.name]: value } })}
      error={issueOf(connect.error, `config.${setting.name}`)}
    />
  );

  return (
    <KeptForm edits={form} className="flex flex-col gap-4" onSubmit={submit}>
      <SelectField
        label={t`Carrier`}
        value={provider}
        options={carriers.map((one) => ({ value: one.provider, label: guideOf(one).title }))}
        onChange={(event) => {
          change({ provider: event.target.value, values: {} });
          connect.reset();
        }}
        error={issueOf(connect.error, 'provider')}
      />
      <TextField
        label={line.requestedChannelType === 'email' ? t`Email address` : t`Phone number`}
        value={address}
        onChange={(event) => change({ address: event.target.value })}
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
    </KeptForm>
  );
}
