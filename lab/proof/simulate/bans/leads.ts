/**
 * What people do with messages. Each list has a mood, and each lead a fate that is drawn before anything is sent: the
 * policies that are compared write to the same people, who answer alike.
 */
export interface Lead {
  /** When the campaign hands it to the line. */
  readyAt: number;
  /** The step that the contact answers (0: the first message); null: none. */
  answers: { step: number; afterHours: number } | null;
  /** Opts out after this step. */
  optsOut: number | null;
  /** Complains in an answer, which the product sees. */
  complains: boolean;
  /** Reports it to the carrier, which only the carrier knows. */
  reports: boolean;
  unreachable: boolean;
  hasLink: boolean;
}

interface Mood {
  share: number;
  reply: number;
  optOut: number;
  complaint: number;
  report: number;
  unreachable: number;
}

/** From people who asked to be written to, to a bought list. */
const MOODS: readonly Mood[] = [
  { share: 0.45, reply: 0.2, optOut: 0.01, complaint: 0.001, report: 0.001, unreachable: 0.02 },
  { share: 0.33, reply: 0.1, optOut: 0.02, complaint: 0.004, report: 0.004, unreachable: 0.04 },
  { share: 0.14, reply: 0.035, optOut: 0.06, complaint: 0.015, report: 0.015, unreachable: 0.1 },
  { share: 0.08, reply: 0.012, optOut: 0.1, complaint: 0.035, report: 0.04, unreachable: 0.18 },
];

/** The first message and two follow-ups. */
export const STEPS = 3;

/** The campaigns of a line over so many days, in hours from the beginning; one after the other, each with its list. */
export function makeLeads(days: number, random: () => number): Lead[] {
  const leads: Lead[] = [];
  // The share of its caps that is requested of the line.
  const load = 0.3 + 0.35 * random();
  for (let start = 0; start < days;) {
    const length = 5 + Math.floor(random() * 10);
    const mood = pickMood(random());
    const hasLink = random() < 0.3;
    const size = Math.round(50 * load * length);
    for (let n = 0; n < size; n += 1) leads.push(makeLead(mood, start * 24 + 9, hasLink, random));
    start += length;
  }
  return leads;
}

function pickMood(at: number): Mood {
  let sum = 0;
  return MOODS.find(({ share }) => (sum += share) > at) ?? MOODS[0]!;
}

function makeLead(mood: Mood, readyAt: number, hasLink: boolean, random: () => number): Lead {
  const [answer, step, delay, leave, angry, report, dead, late] = Array.from({ length: 8 }, random) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const unreachable = dead < mood.unreachable;
  // Most answers come to the first message.
  const answered = step < 0.65 ? 0 : step < 0.87 ? 1 : 2;
  return {
    readyAt,
    // Half of the answers come within two hours, some after three days.
    answers:
      !unreachable && answer < mood.reply ? { step: answered, afterHours: 0.1 + 2 * delay ** 3 * 40 } : null,
    optsOut: !unreachable && leave < mood.optOut ? (late < 0.6 ? 0 : 1) : null,
    complains: !unreachable && angry < mood.complaint,
    reports: !unreachable && report < mood.report,
    unreachable,
    hasLink,
  };
}
