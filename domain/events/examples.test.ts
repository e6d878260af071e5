import { describe, expect, it } from 'vitest';
import { EVENT_EXAMPLES } from './examples.ts';
import { EVENT_PAYLOADS } from './payloads.ts';

describe('the example of', () => {
  it.each(Object.keys(EVENT_PAYLOADS) as (keyof typeof EVENT_PAYLOADS)[])(
    '%s matches the schema of that event and of no other',
    (event) => {
      const example = EVENT_EXAMPLES[event];
      expect(EVENT_PAYLOADS[event].parse(example)).toEqual(example);
      for (const [other, schema] of Object.entries(EVENT_PAYLOADS)) {
        if (other !== event) expect(schema.safeParse(example).success).toBe(false);
      }
    },
  );

  it('each event about a message names every CRM identifier at the top level, null if there is none', () => {
    for (const [event, example] of Object.entries(EVENT_EXAMPLES)) {
      if (event.startsWith('message.')) expect(example).toHaveProperty('crmAContactId', null);
    }
  });
});
