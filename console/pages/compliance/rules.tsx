import { Plural, useLingui } from '@lingui/react/macro';
import { Suspense } from 'react';
import { useRead } from '#console/api/queries.ts';
import type { ResponseOf } from '#console/api/routes.ts';
import { Badge } from '#console/components/badge.tsx';
import { Fact, Facts } from '#console/components/facts.tsx';
import { Card } from '#console/components/page.tsx';
import { ErrorState, SkeletonRows } from '#console/components/states.tsx';
import { pagePart } from '#console/lib/page-part.ts';
import { Consent } from './consent.tsx';
import { PersonPace } from './person-pace.tsx';
import { QuietHours } from './quiet-hours.tsx';

const EmailLines = pagePart('compliance/email-lines', () => import('./email-lines.tsx'));

/** What is on, and what it does. */
export function Rules() {
  const { data, error, refetch } = useRead('GET /api/compliance', {});
  if (error && !data) return <ErrorState error={error} retry={() => void refetch()} />;
  if (!data) return <SkeletonRows />;
  return (
    <div className="flex flex-col gap-4">
      <QuietHours key={JSON.stringify(data.quietHours)} saved={data.quietHours} />
      <PersonPace />
      <Consent counts={data.campaigns} />
      <NoMessages overview={data} />
      <Suspense fallback={null}>
        <EmailLines />
      </Suspense>
    </div>
  );
}

function NoMessages({
  overview: { suppressions, keywords },
}: {
  overview: Pick<ResponseOf<'GET /api/compliance'>, 'suppressions' | 'keywords'>;
}) {
  const { t } = useLingui();
  return (
    <Card title={t`Who gets no messages`}>
      <div className="p-4">
        <Facts>
          <Fact name={t`Opt out by`}>
            <Keywords words={keywords.optOut} />
          </Fact>
          <Fact name={t`Opt in again by`}>
            <Keywords words={keywords.optIn} />
          </Fact>
          <Fact name={t`Suppressed`}>
            <Plural
              value={suppressions}
              _0="Nothing by the agency"
              one="# address or domain by the agency"
              other="# addresses and domains by the agency"
            />
          </Fact>
        </Facts>
      </div>
    </Card>
  );
}

const Keywords = ({ words }: { words: readonly string[] }) => (
  <span className="flex flex-wrap gap-1.5">
    {words.map((word) => (
      <Badge key={word}>{word}</Badge>
    ))}
  </span>
);
