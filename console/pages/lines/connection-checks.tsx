import { i18n, type MessageDescriptor } from '@lingui/core';
import { msg, t } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { CircleAlert, CircleCheck, CircleHelp } from 'lucide-react';
import { useWrite } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { FormError } from '#console/components/field.tsx';
import { wordsOf } from '#console/lib/format.ts';
import { locale } from '#console/lib/locale.ts';
import { labelOf } from './carrier-settings.ts';

type Check = ResponseOf<'POST /api/lines/carriers/test'>['checks'][number];

const SHOWN = {
  pass: { icon: CircleCheck, tone: 'text-good', word: msg`Works` },
  fail: { icon: CircleAlert, tone: 'text-bad', word: msg`Fails` },
  unknown: { icon: CircleHelp, tone: 'text-muted', word: msg`Not known` },
};

/** What is checked. */
const NAMES: Partial<Record<string, MessageDescriptor>> = {
  server: msg`Server`,
  encryption: msg`Encryption`,
  credentials: msg`Credentials`,
  sender: msg`Number or account`,
  callback: msg`Reports of the carrier to the line`,
  callback_address: msg`Public address of this installation`,
  private_api: msg`Private API`,
  inbox_server: msg`Server of the mailbox`,
  inbox_credentials: msg`Credentials of the mailbox`,
  inbox: msg`Mailbox`,
  line: msg`Line`,
  time: msg`Time of the checks`,
};

const nameOf = (name: string): string => {
  const known = NAMES[name];
  return known ? i18n._(known) : wordsOf(name);
};

/** What is wrong with a field, in few words. The API says it in English, and quotes what servers say. */
export function failureText({ name, text }: Check): string {
  const what = nameOf(name);
  return locale === 'en' ? text : t`Does not work: ${what}`;
}

/** What a test of a connection has found, check by check. */
export function ConnectionChecks({ checks }: { checks: readonly Check[] | undefined }) {
  const { t } = useLingui();
  return (
    <div role="status">
      {checks && (
        <ul aria-label={t`Checks`} className="flex flex-col gap-1.5">
          {checks.map((check) => {
            const { icon: Icon, tone, word } = SHOWN[check.result];
            return (
              <li key={check.name} className="flex items-start gap-2">
                <Icon className={`mt-0.5 size-4 shrink-0 ${tone}`} aria-hidden="true" />
                <span className="min-w-0 wrap-anywhere">
                  <span className="sr-only">{t(word)}: </span>
                  {locale === 'en' ? check.text : <Summary check={check} />}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}

function Summary({ check: { name, result, text, field } }: { check: Check }) {
  const label = field === null ? null : labelOf(field.replace(/^config\./, ''));
  return (
    <>
      {nameOf(name)}
      {result !== 'pass' && (
        <>
          {label !== null && (
            <>
              {'. '}
              <Trans>Check the field “{label}”.</Trans>
            </>
          )}
          <span lang="en" className="block text-xs text-muted">
            {text}
          </span>
        </>
      )}
    </>
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
