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

/** What comes after the messages that are shown. */
export function restOf<P extends Preview>({ steps: shown, walk }: P): P['walk'][number][] {
  const last = walk.findLastIndex(
    ({ stepId, kind }) => kind !== 'reply' && shown.some((step) => step.stepId === stepId),
  );
  return walk.slice(last + 1);
}

/** Why a preview is certain no further than it is, though the steps go on; null: they do not, or no message can reach the lead. */
export function endingSentence(written: readonly AnyStep[], preview: Preview): string | null {
  const { walk } = preview;
  const next = restOf(preview).find(
    ({ kind }) => kind === 'wait_until' || kind === 'branch' || kind === 'message',
  );
  if (!next || !walk.some(({ kind }) => kind === 'message')) return null;
  const asked = conditionsOf(allSteps(written)[placeOf(written, next.stepId) - 1]);
  const conditions = listOf([...new Set(asked.map(conditionText))], 'disjunction');
  return conditions === ''
    ? t`The next step depends on what happens until then.`
    : t`What comes next depends on: ${conditions}.`;
}

/** What a step asks before the lead goes on. */
export function conditionsOf(step: AnyStep | undefined) {
  if (step?.kind === 'wait_until') return step.any;
  return step?.kind === 'branch' ? step.branches.flatMap(({ when }) => when) : [];
}
