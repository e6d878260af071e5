import { msg } from '@lingui/core/macro';
import { useLingui } from '@lingui/react/macro';
import { CircleAlert, CircleCheck, CircleHelp } from 'lucide-react';
import type { ResponseOf } from '#console/api/routes.ts';

type Check = ResponseOf<'POST /api/lines/carriers/test'>['checks'][number];

const SHOWN = {
  pass: { icon: CircleCheck, tone: 'text-good', word: msg`Works` },
  fail: { icon: CircleAlert, tone: 'text-bad', word: msg`Fails` },
  unknown: { icon: CircleHelp, tone: 'text-muted', word: msg`Not known` },
};

/** What a test of a connection has found, check by check. */
export function ConnectionChecks({ checks }: { checks: readonly Check[] | undefined }) {
  const { t } = useLingui();
  return (
    <div role="status">
      {checks && (
        <ul aria-label={t`Checks`} className="flex flex-col gap-1.5">
          {checks.map(({ name, result, text }) => {
            const { icon: Icon, tone, word } = SHOWN[result];
            return (
              <li key={name} className="flex items-start gap-2">
                <Icon className={`mt-0.5 size-4 shrink-0 ${tone}`} aria-hidden="true" />
                <span className="min-w-0 wrap-anywhere">
                  <span className="sr-only">{t(word)}: </span>
                  {text}
                </span>
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
