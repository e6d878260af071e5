import { describe, expect, it } from 'vitest';
import { planSteps, stepDate } from './campaign-schedule.ts';
import { CampaignStep, messageSteps } from './step.ts';

const step = (fields: object) => CampaignStep.parse({ message: 'Hi', ...fields });
const lead = { phones: ['+14155550100'], emails: ['ada@example.com'] };
const noon = new Date('2026-03-02T12:00:00Z'); // a Monday
const times = (planned: { at: Date }[]) => planned.map(({ at }) => at.toISOString().slice(0, 16));

describe('planSteps', () => {
  it('counts each delay from the previous step, the first from the time of entry', () => {
    const steps = [step({ delay: { minutes: 5 } }), step({ delay: { days: 2, hours: 1 } }), step({})];
    expect(times(planSteps(messageSteps(steps), lead, undefined, noon))).toEqual([
      '2026-03-02T12:05',
      '2026-03-04T13:05',
      '2026-03-04T13:05',
    ]);
  });

  it('moves a step into the send window and counts the next delay from there', () => {
    const steps = [step({ delay: { hours: 8 } }), step({ delay: { hours: 1 } })];
    const window = { timezone: 'UTC', start: '09:00', end: '17:00', days: [1, 2, 3, 4, 5] };
    expect(times(planSteps(messageSteps(steps), lead, window, noon))).toEqual([
      '2026-03-03T09:00',
      '2026-03-03T10:00',
    ]);
  });

  it('skips steps whose channel cannot reach the lead, but keeps their delays', () => {
    const steps = [
      step({ messageType: 'email' }),
      step({ messageType: 'sms', delay: { days: 1 } }),
      step({ messageType: 'email', delay: { days: 1 } }),
    ];
    const planned = planSteps(
      messageSteps(steps),
      { phones: [], emails: ['ada@example.com'] },
      undefined,
      noon,
    );
    expect(planned.map(({ stepId, address }) => [stepId, address])).toEqual([
      ['1', 'ada@example.com'],
      ['3', 'ada@example.com'],
    ]);
    expect(times(planned)).toEqual(['2026-03-02T12:00', '2026-03-04T12:00']);
  });
});

describe('stepDate', () => {
  it('includes the delays of skipped steps', () => {
    const steps = [step({}), step({ delay: { days: 1 } }), step({ delay: { days: 3 } })];
    expect(stepDate(steps, '1', '3', undefined, noon).toISOString()).toBe('2026-03-06T12:00:00.000Z');
  });
});
