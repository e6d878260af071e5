import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { eventHead } from './base.ts';

/** A contact asks to be left alone in other words than the keywords. A person decides. */
export const OptOutSuspected = eventHead('contact.opt_out_suspected').extend({
  suspicionId: Id.meta({ description: 'To decide: `POST /api/opt-outs/suspected/{id}`.' }),
  address: z.string(),
  leadId: Id.optional(),
  replyId: Id,
  message: z.string().meta({ description: 'The text of the reply: its first 20,000 characters.' }),
});
