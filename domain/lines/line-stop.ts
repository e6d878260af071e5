import { z } from 'zod';

/**
 * Why a line sends nothing, or starts no conversations, until something changes, and which of its messages this holds. The
 * trigger `note_line_stop` in the database determines the reason (`lines.stop_reason`) and since when it applies (`stopped_at`),
 * because queries search by both, and a line is changed in many places. `why-it-waits.test.ts` compares it with `reasonToRecord`.
 */
export const LINE_STOPS = {
  line_inactive: { holds: 'all' },
  line_paused: { holds: 'all' },
  line_down: { holds: 'all' },
  line_resting: { holds: 'new_conversations' },
} as const satisfies Record<string, { holds: 'all' | 'new_conversations' }>;
export const LineStop = z.enum(Object.keys(LINE_STOPS) as (keyof typeof LINE_STOPS)[]);
export type LineStop = z.infer<typeof LineStop>;
