import { z } from 'zod';
import { OptOutSource } from '../contacts/opt-out.ts';
import { Id } from '../base/ids.ts';
import { eventHead } from './base.ts';

const consentEvent = <Name extends string>(event: Name) =>
  eventHead(event).extend({
    address: z.string(),
    source: OptOutSource,
    replyId: Id.optional().meta({ description: 'The reply by which the contact said so.' }),
  });

/** Nothing more is sent to an address. */
export const ContactOptedOut = consentEvent('contact.opted_out');

/** An address that had opted out may be written to again. */
export const ContactOptedIn = consentEvent('contact.opted_in');
