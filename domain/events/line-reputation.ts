import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { ReputationState, ReputationTerm } from '../lines/reputation.ts';
import { eventHead } from './base.ts';

/** The state of a line's reputation changed. */
export const LineReputationChanged = eventHead('line.reputation_changed').extend({
  lineId: Id,
  from: ReputationState,
  to: ReputationState,
  score: z.int().min(0).max(100),
  terms: z.array(ReputationTerm),
});
