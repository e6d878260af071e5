import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, mostly waiting: if one started last, it would run alone. */
const WAITING = [
  'system/line-pacers',
  'system/lively-demo',
  'system/start-and-stop',
  'system/worker-versions',
  'system/blocked-lines',
  'lines/twilio',
  'system/terminations',
  'system/keys',
  'system/polled-run',
  'system/campaign-crashes',
  'system/database-failover',
  'system/observability',
  'sending/gaps',
  'system/housekeeping-unserved',
  'system/managed-temporal',
  'system/webhooks-crash',
  'system/activity-pause',
  'system/mailboxes',
  'events/event-stream',
  'system/late-sends',
  'system/carrier-outage',
].map((name) => `/${name}.test.ts`);
/** This many files that compute start between two that wait, so that the processors always have both kinds. */
const BETWEEN = 4;

const rank = ({ moduleId }: TestSpecification): number =>
  WAITING.findIndex((name) => moduleId.endsWith(name));

/** Starts the files that wait longest early; the others as Vitest does, by size or by an earlier run. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    const sorted = await super.sort(files);
    const waiting = sorted.filter((file) => rank(file) !== -1).toSorted((a, b) => rank(a) - rank(b));
    const others = sorted.filter((file) => rank(file) === -1);
    const mixed = others.flatMap((file, index) => [
      ...(index % BETWEEN === 0 ? waiting.splice(0, 1) : []),
      file,
    ]);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return [...mixed, ...waiting].toSorted(
      (a, b) => projects.indexOf(a.project) - projects.indexOf(b.project),
    );
  }
}
