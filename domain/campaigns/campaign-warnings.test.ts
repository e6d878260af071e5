import { describe, expect, it } from 'vitest';
import { campaignWarnings } from './campaign-warnings.ts';
import type { CampaignStep } from './step.ts';

const step = {
  message: 'Hi',
  messageType: 'imessage' as const,
  attachmentUrls: [],
  delay: {},
  smsFallbackEnabled: false,
};
const link = { ...step, message: 'www.example.com' };
const branch = (yes: CampaignStep[], no: CampaignStep[]): CampaignStep => ({
  kind: 'branch',
  branches: [{ name: 'Yes', when: [], steps: yes }],
  else: no,
});
const textsOf = (steps: CampaignStep[]) => campaignWarnings(steps, null, []).map(({ text }) => text);

describe('the warnings of a campaign', () => {
  it('name the step', () => {
    expect(campaignWarnings([step, step], null, [])).toEqual([]);
    const warnings = campaignWarnings([link, step, step, step], null, []);
    expect(warnings.map(({ code }) => code)).toEqual(['first_message_link', 'many_unanswered']);
    expect(warnings[1]?.text).toMatch(/^Step 4: The contact has not answered the last 3 messages/);
  });

  it('count the messages before a step on the longest way to it', () => {
    expect(textsOf([step, branch([step], [step])])).toEqual([]);
    expect(textsOf([branch([step], [link])])).toEqual([expect.stringMatching(/^Step 3: The first message/)]);
    expect(textsOf([branch([step], []), link])).toEqual([
      expect.stringMatching(/^Step 3: The first message/),
    ]);
    expect(textsOf([branch([step, step], []), step])).toEqual([
      expect.stringMatching(/^Step 4: The contact has not answered the last 2 messages/),
    ]);
    expect(textsOf([branch([step, step, { kind: 'end' }], []), step])).toEqual([]);
  });

  it('say until when quiet hours postpone the first step', () => {
    const until = { at: new Date('2026-06-10T15:00:00Z'), zone: 'America/Los_Angeles' };
    expect(campaignWarnings([step, step], until, []).map(({ text }) => text)).toEqual([
      expect.stringMatching(/^Step 1: Quiet hours/),
    ]);
  });

  it('name each field that no contact can have once, with its first step', () => {
    const wrong = { ...step, message: '{{ company }}' };
    expect(campaignWarnings([wrong, wrong], null, [])).toMatchObject([
      { code: 'unknown_field', name: 'company', text: expect.stringMatching(/^Step 1: .*companyName/) },
    ]);
  });
});
