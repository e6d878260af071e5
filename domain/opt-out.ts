import { z } from 'zod';

/** An address that does not want to hear from the workspace (decisions §4). */
export const OptOut = z
  .object({
    address: z.string().meta({ example: '+14155550123' }),
    source: z.string().meta({ description: '`reply`, `unsubscribe`, `carrier` or `api`.' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OptOut' });
export type OptOut = z.infer<typeof OptOut>;

export type OptOutSource = 'reply' | 'unsubscribe' | 'carrier' | 'api';

const STOP = new Set(['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT', 'REVOKE', 'OPTOUT']);
const START = new Set(['START', 'UNSTOP', 'YES']);

export type Keyword = 'stop' | 'start';

/** What a reply says about hearing from us, when that is all it says: the whole message, in any case. */
export function optOutKeyword(text: string): Keyword | null {
  const word = text.trim().toUpperCase();
  if (STOP.has(word)) return 'stop';
  return START.has(word) ? 'start' : null;
}
