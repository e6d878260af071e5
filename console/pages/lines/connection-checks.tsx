import { CircleAlert, CircleCheck, CircleHelp } from 'lucide-react';
import type { ResponseOf } from '#console/api/routes.ts';

type Check = ResponseOf<'POST /api/lines/carriers/test'>['checks'][number];

const SHOWN = {
  pass: { icon: CircleCheck, tone: 'text-good', word: 'Works' },
  fail: { icon: CircleAlert, tone: 'text-bad', word: 'Fails' },
  unknown: { icon: CircleHelp, tone: 'text-muted', word: 'Not known' },
};

/** What a test of a connection has found, check by check. */
export const ConnectionChecks = ({ checks }: { checks: readonly Check[] | undefined }) => (
  <div role="status">
    {checks && (
      <ul aria-label="Checks" className="flex flex-col gap-1.5">
        {checks.map(({ name, result, text }) => {
          const { icon: Icon, tone, word } = SHOWN[result];
          return (
            <li key={name} className="flex items-start gap-2">
              <Icon className={`mt-0.5 size-4 shrink-0 ${tone}`} aria-hidden="true" />
              <span className="min-w-0 wrap-anywhere">
                <span className="sr-only">{word}: </span>
                {text}
              </span>
            </li>
          );
        })}
      </ul>
    )}
  </div>
);
