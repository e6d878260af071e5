import { Plural, Trans, useLingui } from '@lingui/react/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { Button } from '#console/components/button.tsx';
import { ShortTime } from '#console/components/short-time.tsx';
import { addressName, listOf } from '#console/lib/format.ts';
import { type Deed, deedNames, timesText, type Withheld, withheldNames } from './rule-draft.ts';

type DryRun = ResponseOf<'POST /api/rules/dry-run'>['dryRun'];

const SHOWN = 10;

/** What the rule would have done in the last 30 days. */
export function RuleDryRun({
  result,
  busy,
  run,
}: {
  result: DryRun | undefined;
  busy: boolean;
  run: () => void;
}) {
  return (
    <section className="flex flex-col gap-2">
      <div>
        <Button small busy={busy} onClick={run}>
          <Trans>Try it on the last 30 days</Trans>
        </Button>
      </div>
      <div aria-live="polite">{result && <Result result={result} />}</div>
    </section>
  );
}

function Result({ result }: { result: DryRun }) {
  const { t } = useLingui();
  const { happened, matched, did, withheld, examples, isPartial } = result;
  const deeds = deedNames();
  const reasons = withheldNames();
  const counted = (names: Record<string, string>, counts: Partial<Record<Deed | Withheld, number>>) =>
    Object.entries(counts).map(([name, count]) => `${names[name] ?? name}: ${timesText(count)}`);
  const done = counted(deeds, did);
  const kept = counted(reasons, withheld);
  return (
    <div className="flex flex-col gap-2 rounded-lg bg-hover p-3">
      <p>
        <Plural value={happened} one="It happened once." other="It happened # times." />{' '}
        <Plural
          value={matched}
          _0="The conditions never held."
          one="The conditions held once."
          other="The conditions held # times."
        />
        {isPartial && (
          <>
            {' '}
            <Trans>Only the latest 2,000 were looked at.</Trans>
          </>
        )}
      </p>
      {done.length > 0 && <p className="first-letter:uppercase">{listOf(done)}</p>}
      {kept.length > 0 && (
        <p>
          <Trans>Texts that would not have been sent:</Trans> {listOf(kept)}
        </p>
      )}
      {examples.length > 0 && (
        <ul aria-label={t`The latest`} className="divide-y divide-line">
          {examples.slice(0, SHOWN).map(({ at, address, did: own, withheld: reason }) => (
            <li key={`${at} ${address}`} className="flex flex-wrap gap-x-3 py-1 text-[0.8125rem]">
              <ShortTime at={at} />
              <span className="font-medium">{addressName(address)}</span>
              <span className="text-muted">
                {listOf([...own.map((deed) => deeds[deed]), ...(reason === null ? [] : [reasons[reason]])])}
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
