import type { RequestTo } from '#console/api/routes.ts';
import { allSteps } from '#console/lib/step-places.ts';
import type { Campaign } from './campaign.ts';
import type { Condition } from './conditions.ts';
import { conditionsOf } from './preview-ending.ts';

type Assumptions = NonNullable<NonNullable<RequestTo<'POST /api/campaigns/{id}/preview'>['body']>['assume']>;

/** What a contact may do, as far as a campaign asks about it. */
export interface Choices {
  /** Answers that lead to different places, a word of each; null: nothing depends on an answer. */
  replies: readonly string[] | null;
  deeds: readonly Deed[];
}

/** `missed`: the messages are not delivered. */
export type Deed = 'read' | 'clicked' | 'missed';

/** An answer that no condition asks for. */
export const OTHER_REPLY = '…';

const ASKED: Record<Deed, string> = { read: 'read', clicked: 'clicked', missed: 'delivered' };

export function choicesOf({
  steps,
  stopWhen,
  onReply,
}: Pick<Campaign, 'steps' | 'stopWhen' | 'onReply'>): Choices {
  const asked = [
    ...stopWhen,
    ...allSteps(steps).flatMap((step) => [...conditionsOf(step), ...(step.stopWhen ?? [])]),
  ];
  const about = (field: string): Condition[] => asked.filter((condition) => condition.field === field);
  const goesOn = onReply === 'continue';
  const isAsked = about('replied').length > 0 || about('no_reply_for').length > 0;
  const words = (goesOn ? about('replied') : []).flatMap(({ value }) => {
    const [first] = [value].flat();
    return typeof first === 'string' ? [first] : [];
  });
  return {
    replies: isAsked || !goesOn ? [...new Set(words)] : null,
    deeds: (['read', 'clicked', 'missed'] as const).filter((deed) => about(ASKED[deed]).length > 0),
  };
}

/** @param reply empty: none. */
export const assumptionsOf = (reply: string, deeds: readonly Deed[]): Assumptions => ({
  ...(reply !== '' && { replies: [reply] }),
  ...(deeds.includes('read') && { read: true }),
  ...(deeds.includes('clicked') && { clicked: true }),
  ...(deeds.includes('missed') && { delivered: false }),
});
