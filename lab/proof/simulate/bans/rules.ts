/** What a carrier knows of a day of a line. Reports and the number of people are not among the product's signals. */
export interface CarrierDay {
  opened: number;
  answered: number;
  optouts: number;
  reports: number;
}

/** Bans a line when its last days are like this. */
export interface BanRule {
  name: 'silence' | 'opt-outs' | 'reports' | 'burst' | 'breadth';
  bans(days: readonly CarrierDay[]): boolean;
}

const sum = (days: readonly CarrierDay[], of: keyof CarrierDay): number =>
  days.reduce((total, day) => total + day[of], 0);

/**
 * The hidden rules of a carrier: three of five, with thresholds drawn from the seed. No policy sees them. Some look at what
 * the product cannot count (reports), and all use other time windows than the product.
 */
export function drawRules(random: () => number): BanRule[] {
  const between = (from: number, to: number): number => from + (to - from) * random();
  const days = (from: number, to: number): number => Math.round(between(from, to));
  const silence = { days: days(6, 15), least: days(80, 200), share: between(0.01, 0.03) };
  const optOuts = { days: days(4, 12), least: days(60, 150), share: between(0.06, 0.1) };
  const reports = { days: days(7, 15), most: days(8, 18) };
  const burst = { least: days(36, 46), times: between(2.5, 4) };
  const breadth = { days: days(20, 30), most: days(500, 900), share: between(0.03, 0.06) };
  const rules: BanRule[] = [
    {
      name: 'silence',
      bans: (all) => {
        const last = all.slice(-silence.days);
        const opened = sum(last, 'opened');
        return opened >= silence.least && sum(last, 'answered') / opened < silence.share;
      },
    },
    {
      name: 'opt-outs',
      bans: (all) => {
        const last = all.slice(-optOuts.days);
        const opened = sum(last, 'opened');
        return opened >= optOuts.least && sum(last, 'optouts') / opened > optOuts.share;
      },
    },
    { name: 'reports', bans: (all) => sum(all.slice(-reports.days), 'reports') > reports.most },
    {
      name: 'burst',
      bans: (all) => {
        const today = all.at(-1)?.opened ?? 0;
        const before = all.slice(-15, -1);
        return (
          before.length >= 7 &&
          today >= burst.least &&
          today > burst.times * (sum(before, 'opened') / before.length)
        );
      },
    },
    {
      name: 'breadth',
      bans: (all) => {
        const last = all.slice(-breadth.days);
        const opened = sum(last, 'opened');
        return opened > breadth.most && sum(last, 'answered') / opened < breadth.share;
      },
    },
  ];
  return rules
    .map((rule) => ({ rule, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .slice(0, 3)
    .map(({ rule }) => rule);
}
