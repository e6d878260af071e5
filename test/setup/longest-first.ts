import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, mostly waiting: if one started last, it would run alone. */
const LONGEST = [
  'operations/start-and-stop',
  'operations/terminations',
  'console/new-client',
  'lines/line-pacers',
  'contacts/contact-erasure',
  'events/event-stream',
  'events/webhooks-delivery',
  'messages/timeline',
  'inbox/inbound',
  'carriers/carrier-outage',
  'operations/activity-pause',
  'pacing/late-sends',
  'simulate/pacing.properties',
  'carriers/bluebubbles',
].map((name) => `/${name}.test.ts`);

const rank = ({ moduleId }: TestSpecification): number => {
  const index = LONGEST.findIndex((name) => moduleId.endsWith(name));
  return index === -1 ? LONGEST.length : index;
};

/** Starts the longest files of each project first; the others as Vitest does, by size or by an earlier run. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return sorted.toSorted(
      (a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || rank(a) - rank(b),
    );
  }
}
