import type { MessageDescriptor } from '@lingui/core';
import { msg } from '@lingui/core/macro';
import { Trans, useLingui } from '@lingui/react/macro';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Badge, type Tone } from '#console/components/badge.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';

type Check = ResponseOf<'GET /api/lines/{id}/email-authentication'>['checks'][number];

export const RESULTS: Record<Check['result'], { tone: Tone; text: MessageDescriptor }> = {
  pass: { tone: 'good', text: msg`Passes` },
  fail: { tone: 'bad', text: msg`Fails` },
  unknown: { tone: 'neutral', text: msg`Unknown` },
};

/** What receivers authenticate the emails of a line by, as DNS has it now. */
export function EmailAuthentication({ lineId }: { lineId: string }) {
  const read = useRead('GET /api/lines/{id}/email-authentication', { params: { id: lineId } });
  return (
    <section className="mt-6">
      <h3 className="mb-2 font-medium">
        <Trans>Email authentication</Trans>
      </h3>
      {read.error && !read.data && <ErrorState error={read.error} retry={() => void read.refetch()} />}
      {!read.data && !read.error && <SkeletonRows rows={5} />}
      {read.data && (
        <ul className="divide-y divide-line rounded-lg border border-line">
          {read.data.checks.map((check) => (
            <CheckRow key={check.name} check={check} />
          ))}
        </ul>
      )}
    </section>
  );
}

function CheckRow({ check: { name, result, text, expected, found } }: { check: Check }) {
  const { t } = useLingui();
  return (
    <li className="px-3 py-2">
      <p className="flex items-center gap-2">
        <span className="font-medium">{name.toUpperCase()}</span>
        <Badge tone={RESULTS[result].tone}>{t(RESULTS[result].text)}</Badge>
      </p>
      <p>{text}</p>
      {result !== 'pass' && (
        <p className="text-xs break-words text-muted">
          <Trans>Expected: {expected}</Trans>
        </p>
      )}
      {found !== null && (
        <p className="font-mono text-xs break-all whitespace-pre-wrap text-muted">{found}</p>
      )}
    </li>
  );
}
