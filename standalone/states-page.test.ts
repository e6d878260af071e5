import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CAMPAIGN_CHANGES, CampaignStatus } from '#domain/campaigns/campaign.ts';
import { DRAFT_TRANSITIONS } from '#domain/drafts/ai-draft.ts';
import {
  advanceLineRequest,
  type LineRequestEvent,
  type LineRequestState,
  startLineRequest,
} from '#domain/lines/line-request-state.ts';
import { ProvisioningStatus } from '#domain/lines/line.ts';
import { TRANSITIONS } from '#domain/messages/message-status.ts';

const GRANTS = ['included', 'invoiced', 'payment'] as const;

const arrowsOf = (transitions: Record<string, readonly string[]>): string[] =>
  Object.entries(transitions).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`));

const campaignArrows = (): string[] =>
  Object.values(CAMPAIGN_CHANGES).flatMap(({ from, to }) => from.map((status) => `${status} → ${to}`));

/** Every change of status that some sequence of events makes. Two rounds have them all. */
function lineRequestArrows(): string[] {
  const arrows = new Set<string>();
  const seen = new Set<string>();
  const open: LineRequestState[] = GRANTS.map(startLineRequest);
  for (let state = open.pop(); state; state = open.pop()) {
    const key = JSON.stringify(state);
    if (seen.has(key) || state.round > 2) continue;
    seen.add(key);
    for (const event of lineRequestEvents(state.round)) {
      const next = advanceLineRequest(state, event);
      if (!next) continue;
      if (next.status !== state.status) arrows.add(`${state.status} → ${next.status}`);
      open.push(next);
    }
  }
  return [...arrows];
}

const lineRequestEvents = (last: number): LineRequestEvent[] => [
  ...(['included', 'cancel', 'activated', 'refused'] as const).map((type) => ({ type })),
  ...GRANTS.map((grant) => ({ type: 'retry' as const, grant })),
  ...Array.from({ length: last }, (_, index) => index + 1).flatMap((round) =>
    (['invoice_opened', 'invoice_paid', 'invoice_voided', 'payment_failed', 'invoice_credited'] as const).map(
      (type) => ({ type, round }),
    ),
  ),
];

test.each<[title: string, states: readonly string[], arrows: string[]]>([
  ['Message', Object.keys(TRANSITIONS), arrowsOf(TRANSITIONS)],
  ['Line request', ProvisioningStatus.options, lineRequestArrows()],
  ['Draft', Object.keys(DRAFT_TRANSITIONS), arrowsOf(DRAFT_TRANSITIONS)],
  ['Campaign', CampaignStatus.options, campaignArrows()],
])('docs/states.md shows the states of a %s and what changes them', (title, states, arrows) => {
  const [, section = ''] = readFileSync('docs/states.md', 'utf8').split(`\n## ${title}\n`);
  const [text = ''] = section.split('\n## ');
  const [, picture = ''] = text.split(/```(?:text)?/);
  expect(states.filter((state) => !picture.includes(state))).toEqual([]);
  const namesIn = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
  const shown = [...text.matchAll(/^\| (`[^|]+) \| ([^|]+) \| .+ \|$/gm)].flatMap(([, from = '', to = '']) =>
    namesIn(from).flatMap((source) => namesIn(to).map((target) => `${source} → ${target}`)),
  );
  expect(shown.toSorted()).toEqual(arrows.toSorted());
});
