import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { CHANNELS, type Line } from '#console/lib/line.ts';
import { TestConnection } from '#console/pages/lines/carrier-form.tsx';
import { type Carrier, configOf, settingsOf } from '#console/pages/lines/carrier-settings.ts';
import { EmailAuthentication } from '#console/pages/lines/email-authentication.tsx';
import { ConnectionChecks, failureText } from '#console/pages/lines/connection-checks.tsx';
import { SettingField } from '#console/pages/lines/setting-field.tsx';
import { type Connection, useConnect } from './use-connect.ts';

type Tested = RequestTo<'POST /api/lines/carriers/test'>['body'];

/** Connects a line of one's own: what to do at the carrier, the settings with their tests, and what is left to do there. */
export function CarrierWizard({
  carrier,
  carriers,
  lines,
}: {
  carrier: Carrier;
  carriers: readonly Carrier[];
  lines: readonly Line[];
}) {
  const { t } = useLingui();
  const [channel, setChannel] = useState(carrier.channels[0] ?? 'imessage');
  const [values, setValues] = useState<Record<string, string>>({});
  const [entered, setEntered] = useState({ address: '', firstName: '', lastName: '' });
  const test = useWrite('POST /api/lines/carriers/test');
  const isProvisioned = carriers.some((other) => other.provisionsLines && other.channels.includes(channel));
  const { connect, connection, paymentUrl, busy, error } = useConnect(lines, isProvisioned);

  // The secret of callbacks is generated.
  const settings = settingsOf(carrier.settings).filter(
    ({ name }) => !/^(callback|inbound)Secret$/.test(name),
  );
  const body: Tested = {
    provider: carrier.provider,
    channel,
    ...(entered.address !== '' && { address: entered.address }),
    config: configOf(settings, values),
  };
  const isTested = JSON.stringify(test.variables?.body) === JSON.stringify(body);
  const isComplete = settings.every(({ name, required, options }) => !required || options || values[name]);
  const run = (): void => test.mutate({ body });
  /** Validates a field when the user leaves it. */
  const leave = (): void => {
    if (isComplete && !isTested && !test.isPending) run();
  };
  const checks = isTested ? test.data?.checks : undefined;
  const failure = (field: string): string | undefined => {
    const failed = checks?.find((check) => check.field === field && check.result === 'fail');
    return (
      issueOf(error, field) ??
      (isTested ? issueOf(test.error, field) : undefined) ??
      (failed && failureText(failed))
    );
  };
  const fields = ['firstName', 'lastName', 'address', ...settings.map(({ name }) => `config.${name}`)];

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { firstName, lastName } = entered;
    void connect({ firstName, lastName, channel, body });
  };
  if (connection) return <Finish carrier={carrier} connection={connection} />;
  const carrierName = carrier.guide.title;
  const field = (name: keyof typeof entered, label: string) => (
    <TextField
      label={label}
      name={name}
      required
      value={entered[name]}
      onChange={(event) => setEntered({ ...entered, [name]: event.target.value })}
      onBlur={leave}
      error={failure(name)}
    />
  );
  return (
    <form className="flex flex-col gap-5" onSubmit={submit}>
      <Stage title={t`At ${carrierName}`}>
        <Sentences sentences={carrier.guide.before} />
      </Stage>
      <Stage title={t`Settings`}>
        <div className="grid gap-4 sm:grid-cols-2">
          {carrier.channels.length > 1 && (
            <SelectField
              label={t`Channel`}
              value={channel}
              options={carrier.channels.map((value) => ({ value, label: CHANNELS[value] }))}
              onChange={(event) => setChannel(event.target.value as typeof channel)}
            />
          )}
          {field('address', channel === 'email' ? t`Email address` : t`Phone number`)}
          {settings.map((setting) => (
            <SettingField
              key={setting.name}
              setting={setting}
              value={values[setting.name] ?? ''}
              onChange={(value) => setValues({ ...values, [setting.name]: value })}
              onBlur={leave}
              error={failure(`config.${setting.name}`)}
            />
          ))}
        </div>
        <div className="mt-4 flex flex-col gap-3">
          <div>
            <Button busy={test.isPending} disabled={!isComplete} onClick={run}>
              <Trans>Test the settings</Trans>
            </Button>
          </div>
          <FormError>{isTested && generalErrorOf(test.error, fields)}</FormError>
          <ConnectionChecks checks={checks} />
        </div>
      </Stage>
      <Stage title={t`Who writes`}>
        <div className="grid gap-4 sm:grid-cols-2">
          {field('firstName', t`First name`)}
          {field('lastName', t`Last name`)}
        </div>
      </Stage>
      <FormError>{generalErrorOf(error, fields)}</FormError>
      {paymentUrl === null ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button kind="primary" type="submit" busy={busy} disabled={!(isTested && test.data?.works)}>
            <Trans>Connect the line</Trans>
          </Button>
          {!(isTested && test.data?.works) && (
            <span className="text-muted">
              <Trans>Once the test finds nothing that fails.</Trans>
            </span>
          )}
        </div>
      ) : (
        <p className="flex flex-wrap items-center gap-3">
          <Trans>Your plan does not include the line.</Trans>
          <a href={paymentUrl} className={buttonClasses('primary')}>
            <Trans>Pay for the line</Trans>
          </a>
        </p>
      )}
    </form>
  );
}

function Finish({ carrier, connection }: { carrier: Carrier; connection: Connection }) {
  const { t } = useLingui();
  const carrierName = carrier.guide.title;
  return (
    <div className="flex flex-col gap-5">
      <p role="status" className="text-good">
        <Trans>The line is connected.</Trans>
      </p>
      <Stage title={t`What is left to do at ${carrierName}`}>
        <Sentences sentences={carrier.guide.after} />
        <div className="mt-4 flex flex-col gap-4">
          <TextField
            label={t`Callback URL`}
            readOnly
            value={connection.callbackUrl}
            className="font-mono text-xs"
            onFocus={(event) => event.target.select()}
          />
          <TestConnection lineId={connection.lineId} />
          {carrier.channels.includes('email') && <EmailAuthentication lineId={connection.lineId} />}
        </div>
      </Stage>
    </div>
  );
}

const Stage = ({ title, children }: { title: string; children: ReactNode }) => (
  <section>
    <h4 className="mb-2 font-medium">{title}</h4>
    {children}
  </section>
);

const Sentences = ({ sentences }: { sentences: readonly string[] }) => (
  <ol className="list-decimal space-y-1 pl-5 text-muted">
    {sentences.map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
  </ol>
);
