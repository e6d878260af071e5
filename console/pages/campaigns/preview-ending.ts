import { t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { listOf } from '#console/lib/format.ts';
import { allSteps, placeOf } from '#console/lib/step-places.ts';
import type { AnyStep } from './campaign.ts';
import { conditionText } from './conditions.ts';

type Response = ResponseOf<'POST /api/campaigns/{id}/preview'>;
interface Preview {
  steps: readonly Pick<Response['steps'][number], 'stepId'>[];
  walk: readonly Pick<Response['walk'][number], 'stepId' | 'kind'>[];
}

/** Why a preview ends where it does, though the steps go on; null: they do not, or no message can reach the lead. */
export function endingSentence(written: readonly AnyStep[], { steps: shown, walk }: Preview): string | null {
  const last = walk.findLastIndex(({ stepId }) => shown.some((step) => step.stepId === stepId));
  const next = walk
    .slice(last + 1)
    .find(({ kind }) => kind === 'wait_until' || kind === 'branch' || kind === 'message');
  if (!next || !walk.some(({ kind }) => kind === 'message')) return null;
  const asked = conditionsOf(allSteps(written)[placeOf(written, next.stepId) - 1]);
  const conditions = listOf([...new Set(asked.map(conditionText))], 'disjunction');
  return conditions === ''
    ? t`The next step depends on what happens until then.`
    : t`What comes next depends on: ${conditions}.`;
}

function conditionsOf(step: AnyStep | undefined) {
  if (step?.kind === 'wait_until') return step.any;
  return step?.kind === 'branch' ? step.branches.flatMap(({ when }) => when) : [];
}
