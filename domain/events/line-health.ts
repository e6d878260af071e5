import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { eventHead } from './base.ts';

/** A line sends nothing until it recovers. */
export const LineDown = eventHead('line.down').extend({
  lineId: Id,
  reason: z.enum(['line_down', 'carrier_pause']).meta({
    description:
      '`line_down`: it failed three checks in a row. `carrier_pause`: its carrier takes no messages.',
  }),
  error: z.string().nullable().meta({ description: "The text of the check, or the carrier's." }),
});

/** A line that was down can send again. */
export const LineUp = eventHead('line.up').extend({ lineId: Id });
