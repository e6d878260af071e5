import { Trans, useLingui } from '@lingui/react/macro';
import { type FormEvent, useEffect, useRef } from 'react';
import { useWrite } from '#console/api/queries.ts';
import type { RequestTo } from '#console/api/routes.ts';
import { Button, buttonClasses } from '#console/components/button.tsx';
import { FormError, generalErrorOf, issueOf, SelectField, TextField } from '#console/components/field.tsx';
import { KeptForm } from '#console/components/kept-form.tsx';
import { Section } from '#console/components/page.tsx';
import { CHANNELS, type Line } from '#console/lib/line.ts';
import type { Edits } from '#console/lib/unsent.ts';
import { guideOf } from './carrier-guides.ts';
import { type Carrier, configOf, settingsOf } from './carrier-settings.ts';
import { ConnectionChecks, failureText, TestConnection } from './connection-checks.tsx';
import { EmailAuthentication } from './email-authentication.tsx';
import { type AtCarrier, type Channel, type LineDraft, NOTHING } from './line-draft.ts';
import { LinePrice } from './line-price.tsx';
import { SettingField } from './setting-field.tsx';
import { type Connection, useConnect } from './use-connect.ts';

type Tested = RequestTo<'POST /api/lines/carriers/test'>['body'];

/** Connects a line of one's own: what to do at the carrier, the settings with their tests, and what is left to do there. */
export function CarrierWizard({
  carrier,
  carriers,
  lines,
  line,
  form,
  onDone,
  onShow,
}: {
  carrier: Carrier;
  carriers: readonly Carrier[];
  lines: readonly Line[];
  /** That waits for its carrier. Default: a new one is requested. */
  line?: Line;
  form: Edits<LineDraft>;
  onDone: () => void;
  onShow?: (lineId: string) => void;
}) {
  const { t } = useLingui();
  const draft = form.values;
  const { provider } = carrier;
  const { address, settings: values } = draft.at[provider] ?? NOTHING;
  const chosen = line?.requestedChannelType ?? draft.channel;
  const channel = carrier.channels.find((one) => one === chosen) ?? carrier.channels[0] ?? 'imessage';
  const test = useWrite('POST /api/lines/carriers/test');
  const isProvisioned = carriers.some(
    (other) => other.provisionsOwnLines && other.channels.includes(channel),
  );
  const { connect, connection, paymentUrl, isPaid, busy, error } = useConnect(
    { line, lines, isProvisioned },
    onDone,
  );

  // The secret of callbacks is generated.
  const settings = settingsOf(carrier).filter(({ name }) => !/^(callback|inbound)Secret$/.test(name));
  const body: Tested = {
    provider,
    channel,
    ...(address !== '' && { address }),
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

  const { change } = form;
  const enter = (part: Partial<AtCarrier>): void =>
    change((now) => ({
      at: { ...now.at, [provider]: { ...NOTHING, ...now.at[provider], ...part } },
    }));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const { firstName, lastName } = draft;
    void connect({ firstName, lastName, channel, body });
  };
  if (connection) return <Finish carrier={carrier} connection={connection} {...(onShow && { onShow })} />;
  const { title: carrierName, ...guide } = guideOf(carrier);
  const name = (field: 'firstName' | 'lastName', label: string) => (
    <TextField
      label={label}
      name={field}
      required
      value={draft[field]}
      onChange={(event) => change({ [field]: event.target.value })}
      error={failure(field)}
    />
  );
  return (
    <KeptForm edits={form} noted className="flex flex-col gap-5" onSubmit={submit}>
      <Section title={t`At ${carrierName}`}>
        <Sentences sentences={guide.before} />
      </Section>
      <Section title={t`Settings`}>
        <div className="grid gap-4 sm:grid-cols-2">
          {!line && carrier.channels.length > 1 && (
            <SelectField
              label={t`Channel`}
              value={channel}
              options={carrier.channels.map((value) => ({ value, label: CHANNELS[value] }))}
              onChange={(event) => change({ channel: event.target.value as Channel })}
            />
          )}
          <TextField
            label={channel === 'email' ? t`Email address` : t`Phone number`}
            name="address"
            required
            value={address}
            onChange={(event) => enter({ address: event.target.value })}
            onBlur={leave}
            error={failure('address')}
          />
          {settings.map((setting) => (
            <SettingField
              key={setting.name}
              setting={setting}
              value={values[setting.name] ?? ''}
              onChange={(value) => enter({ settings: { ...values, [setting.name]: value } })}
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
      </Section>
      {!line && (
        <>
          <Section title={t`Who writes`}>
            <div className="grid gap-4 sm:grid-cols-2">
              {name('firstName', t`First name`)}
              {name('lastName', t`Last name`)}
            </div>
          </Section>
          <LinePrice channel={channel} />
        </>
      )}
      <FormError>{generalErrorOf(error, fields)}</FormError>
      {paymentUrl === null ? (
        <div className="flex flex-wrap items-center gap-3">
          <Button kind="primary" type="submit" busy={busy} disabled={!(isTested && test.data?.works)}>
            <Trans>Connect the line</Trans>
          </Button>
          {isPaid && (
            <span role="status" className="text-good">
              <Trans>The line is paid for.</Trans>
            </span>
          )}
          {!(isTested && test.data?.works) && (
            <span className="text-muted">
              <Trans>Once the test finds nothing that fails.</Trans>
            </span>
          )}
        </div>
      ) : (
        <p role="status" className="flex flex-wrap items-center gap-3">
          <Trans>
            Your plan does not include the line. Pay for it in a new tab; what you have entered stays here.
          </Trans>
          {/* In this tab, the secret would have to be entered again. */}
          <a href={paymentUrl} target="_blank" rel="noreferrer" className={buttonClasses('primary')}>
            <Trans>Pay for the line</Trans>
          </a>
        </p>
      )}
    </KeptForm>
  );
}

function Finish({
  carrier,
  connection: { lineId, callbackUrl },
  onShow,
}: {
  carrier: Carrier;
  connection: Connection;
  onShow?: (lineId: string) => void;
}) {
  const { t } = useLingui();
  const { title: carrierName, ...guide } = guideOf(carrier);
  const message = useRef<HTMLParagraphElement>(null);
  // The button that had the focus is gone.
  useEffect(() => message.current?.focus(), []);
  return (
    <div className="flex flex-col gap-5">
      <p ref={message} role="status" tabIndex={-1} className="text-good outline-none">
        <Trans>The line is connected.</Trans>
      </p>
      <Section title={t`What is left to do at ${carrierName}`}>
        <Sentences sentences={guide.after} />
        <div className="mt-4 flex flex-col gap-4">
          <TextField
            label={t`Callback URL`}
            readOnly
            value={callbackUrl}
            className="font-mono text-xs"
            onFocus={(event) => event.target.select()}
          />
          <TestConnection lineId={lineId} />
          {carrier.channels.includes('email') && <EmailAuthentication lineId={lineId} />}
        </div>
      </Section>
      {onShow && (
        <div>
          <Button kind="primary" onClick={() => onShow(lineId)}>
            <Trans>Show the line</Trans>
          </Button>
        </div>
      )}
    </div>
  );
}

const Sentences = ({ sentences }: { sentences: readonly string[] }) => (
  <ol className="list-decimal space-y-1 pl-5 text-muted">
    {sentences.map((sentence) => (
      <li key={sentence}>{sentence}</li>
    ))}
  </ol>
);
