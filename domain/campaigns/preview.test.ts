import { describe, expect, it } from 'vitest';
import { atOnce } from '#test/support/at-once.ts';
import { allPaths, type Assumptions, NO_FACTS, previewWalk } from './preview.ts';
import type { OnReply } from './campaign.ts';
import { CampaignStep } from './step.ts';

const now = new Date('2026-03-10T12:00:00Z');
const steps = [
  { id: 'hi', message: 'Hi' },
  {
    id: 'answer',
    kind: 'wait_until',
    any: [{ field: 'replied' }],
    atMost: { days: 3 },
  },
  {
    id: 'which',
    kind: 'branch',
    branches: [
      {
        name: 'yes',
        when: [{ field: 'replied', value: ['yes'] }],
        steps: [{ id: 'great', message: 'Great' }],
      },
      { name: 'vip', when: [{ field: 'tag', value: 'vip' }], steps: [{ id: 'stop', kind: 'end' }] },
    ],
    else: [{ id: 'pause', kind: 'wait', for: { days: 1 } }],
  },
  { id: 'bye', message: 'Bye', delay: { hours: 2 } },
].map((step) => CampaignStep.parse(step));

const goes = (assume: Assumptions, onReply: OnReply = 'continue', through = steps) =>
  atOnce(previewWalk(through, NO_FACTS, { assume, reaches: () => true, stopWhen: [], onReply, now })).map(
    ({ stepId, outcome, at }) => [stepId, outcome, (Date.parse(at) - now.getTime()) / 3_600_000],
  );

describe('a preview', () => {
  it.each([
    [
      'nothing',
      {},
      [
        ['hi', null, 0],
        ['answer', 'timed_out', 72],
        ['which', 'else', 72],
        ['pause', 'continued', 96],
        ['bye', null, 98],
      ],
    ],
    [
      'an answer',
      { replies: ['Yes!'] },
      [
        ['hi', null, 0],
        ['answer', 'continued', 0],
        ['which', 'yes', 0],
        ['great', null, 0],
        ['bye', null, 2],
      ],
    ],
    [
      'a tag',
      { tags: ['VIP'], replies: ['No'] },
      [
        ['hi', null, 0],
        ['answer', 'continued', 0],
        ['which', 'vip', 0],
        ['stop', 'ended', 0],
      ],
    ],
    ['a failure', { failed: true }, [['hi', null, 0]]],
  ] as const)('follows a lead of whom is assumed: %s', (_, assume, events) =>
    expect(goes(assume as unknown as Assumptions)).toEqual(events),
  );

  it.each([
    ['stop', 'stopped'],
    ['pause', 'paused'],
  ] as const)('goes no further after an answer to a campaign that does: %s', (onReply, outcome) => {
    const replies = ['Yes!'];
    expect(goes({ replies }, onReply)).toEqual([
      ['hi', null, 0],
      ['answer', outcome, 0],
    ]);
    const [, , , bye] = steps;
    const row = [CampaignStep.parse({ id: 'hi', message: 'Hi' }), bye].filter((step) => step !== undefined);
    expect(goes({ replies }, onReply, row).at(-1)).toEqual(['bye', outcome, 0]);
    expect(goes({}, onReply, row).at(-1)).toEqual(['bye', null, 2]);
    expect(goes({ replies }, onReply, row.slice(0, 1))).toEqual([['hi', null, 0]]);
  });

  it('knows all ways through the steps', () => {
    const paths = allPaths(steps);
    expect(paths.map(({ decisions }) => decisions.map(({ outcome }) => outcome).join(' '))).toEqual([
      'continued yes',
      'continued vip ended',
      'continued else',
      'timed_out yes',
      'timed_out vip ended',
      'timed_out else',
    ]);
    expect(paths.map(({ messages }) => messages.length)).toEqual([3, 1, 2, 3, 1, 2]);
    expect(paths.at(-1)?.longestMinutes).toBe((72 + 24 + 2) * 60);
  });
});
