import { describe, expect, it } from 'vitest';
import { campaignWarnings } from './campaign-warnings.ts';

const placed = (...steps: object[]) => steps.map((one, index) => ({ index, step: one as typeof step }));
const step = { message: 'Hi', messageType: 'imessage' as const, attachmentUrls: [] };

describe('the warnings of a campaign', () => {
  it('name the step', () => {
    expect(campaignWarnings(placed(step, step), null, [])).toEqual([]);
    const warnings = campaignWarnings(
      placed({ ...step, message: 'www.example.com' }, step, step, step),
      null,
      [],
    );
    expect(warnings.map(({ code }) => code)).toEqual(['first_message_link', 'many_unanswered']);
    expect(warnings[1]?.text).toMatch(/^Step 4: The contact has not answered the last 3 messages/);
  });

  it('say until when quiet hours postpone the first step', () => {
    const until = { at: new Date('2026-06-10T15:00:00Z'), zone: 'America/Los_Angeles' };
    expect(campaignWarnings(placed(step, step), until, []).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Step 1: Quiet hours/),
    ]);
  });

  it('name each field that no contact can have once, with its first step', () => {
    const wrong = { ...step, message: '{{ company }}' };
    expect(campaignWarnings(placed(wrong, wrong), null, [])).toMatchObject([
      { code: 'unknown_field', name: 'company', text: expect.stringMatching(/^Step 1: .*companyName/) },
    ]);
  });
});
