import { useLingui } from '@lingui/react/macro';
import { conditionText } from '../campaigns/conditions.ts';
import type { HistoryEntry } from './lead.ts';

type Judgement = Extract<HistoryEntry, { type: 'campaign_decided' | 'rule' }>['judged'][number];

/** The conditions that have decided. */
export default function Judged({ judged }: { judged: readonly Judgement[] }) {
  const { t } = useLingui();
  const textOf = ({ condition, holds }: Judgement): string => {
    const asked = conditionText(condition);
    return holds ? t`Holds: ${asked}` : t`Does not hold: ${asked}`;
  };
  return (
    <ul className="text-muted">
      {judged.map((one, index) => (
        <li key={index} className="wrap-anywhere">
          {one.branch !== null && !one.holds && `${one.branch}: `}
          {textOf(one)}
        </li>
      ))}
    </ul>
  );
}
