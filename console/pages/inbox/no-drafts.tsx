import { Trans } from '@lingui/react/macro';
import { Link } from '@tanstack/react-router';
import { useRead } from '#console/api/queries.ts';
import { useIdentity } from '#console/api/workspace.ts';

/** Says so when the copilot is on but its budget of the day is used up. */
export function NoDrafts() {
  const { aiBudgetExhausted } = useIdentity().workspace;
  const copilot = useRead('GET /api/knowledge-base', {}, { enabled: aiBudgetExhausted });
  if (!aiBudgetExhausted || (copilot.data?.mode ?? 'off') === 'off') return null;
  return (
    <p className="mb-3 rounded-xl border border-line p-3 text-muted" role="status">
      <Trans>
        No drafts until tomorrow: the day’s{' '}
        <Link to="/settings" search={{ tab: 'copilot' }} className="underline">
          budget for the language model
        </Link>{' '}
        is used up.
      </Trans>
    </p>
  );
}
