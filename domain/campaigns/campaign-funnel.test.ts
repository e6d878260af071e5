import { describe, expect, it } from 'vitest';
import { type FunnelCounts, funnelOf, type StepState } from './campaign-funnel.ts';

const NONE: FunnelCounts = { states: [], untried: [], responses: [] };
const plain = { messageType: 'imessage', message: 'Hi' } as const;
const variants = (...bodies: string[]) => ({
  ...plain,
  message: '',
  variants: bodies.map((body) => ({ body, weight: 1 })),
});
const state = (fields: Partial<StepState>): StepState => ({
  stepIndex: 0,
  variant: null,
  status: 'sent',
  holdReason: null,
  leads: 1,
  read: 0,
  ...fields,
});

const placed = (...steps: Parameters<typeof funnelOf>[0][number]['step'][]) =>
  steps.map((step, index) => ({ id: `${index + 1}`, index, step }));

describe('the funnel of a campaign', () => {
  it('has every step, also before a lead has entered', () => {
    const [first, second] = funnelOf(placed(plain, variants('One', 'Two')), NONE);
    expect(first).toMatchObject({
      stepIndex: 0,
      leads: 0,
      sent: 0,
      skipped: [],
      variants: [],
      comparisons: [],
    });
    expect(first?.replied).toEqual({ leads: 0, share: null, low: null, high: null });
    expect(second).toMatchObject({ variants: [{ name: 'A' }, { name: 'B' }], comparisons: [] });
  });

  it('counts each message once, by what became of it', () => {
    const states = [
      state({ status: 'sent', leads: 10 }),
      state({ status: 'delivered', leads: 20, read: 5 }),
      state({ status: 'fallback', leads: 3 }),
      state({ status: 'sending' }),
      state({ status: 'scheduled', holdReason: 'hourly_new_cap', leads: 4 }),
      state({ status: 'pending', holdReason: 'personalization', leads: 2 }),
      state({ status: 'scheduled', holdReason: 'previous_step', leads: 7 }),
      state({ status: 'failed', leads: 6 }),
      state({ status: 'canceled', holdReason: 'reply', leads: 2 }),
      state({ status: 'canceled', leads: 3 }),
      state({ status: 'canceled', holdReason: 'line_gap', leads: 1 }),
    ];
    const untried = [{ stepIndex: 0, variant: null, reason: 'recipient_opted_out' as const, leads: 5 }];
    const [step] = funnelOf(placed(plain), { ...NONE, states, untried });
    expect(step).toMatchObject({
      leads: 59,
      reached: 41,
      sent: 33,
      delivered: 20,
      read: 5,
      failed: 1,
      waiting: 7,
      upcoming: 7,
      skipped: [
        { reason: 'recipient_opted_out', leads: 5 },
        { reason: 'canceled', leads: 4 },
        { reason: 'reply', leads: 2 },
      ],
    });
  });

  it.each(['sms', 'email'] as const)('does not know what is read of %s', (messageType) => {
    const [step] = funnelOf(placed({ ...plain, messageType }), { ...NONE, states: [state({})] });
    expect(step?.read).toBeNull();
  });

  it('compares each pair of variants that were sent', () => {
    const states = [state({ variant: 'A', leads: 1000 }), state({ variant: 'B', leads: 1000 })];
    const responses = [
      { stepIndex: 0, variant: 'A' as const, kind: 'reply' as const, leads: 120 },
      { stepIndex: 0, variant: 'B' as const, kind: 'reply' as const, leads: 60 },
      { stepIndex: 0, variant: 'A' as const, kind: 'opt_out' as const, leads: 11 },
      { stepIndex: 0, variant: 'B' as const, kind: 'opt_out' as const, leads: 9 },
    ];
    const of = (...bodies: string[]) =>
      funnelOf(placed(variants(...bodies)), { ...NONE, states, responses })[0]?.comparisons;
    expect(of('One', 'Two')).toMatchObject([
      { variants: ['A', 'B'], metric: 'replied', difference: 0.06, conclusive: true },
      { variants: ['A', 'B'], metric: 'optedOut', conclusive: false },
    ]);
    // Nobody got the third, but it is looked at as well.
    const [two] = of('One', 'Two') ?? [];
    const [three, ...others] = of('One', 'Two', 'Three') ?? [];
    expect(others).toHaveLength(1);
    expect(three?.low).toBeLessThan(two?.low ?? 0);
  });

  it('never tells a share above 1, when a message that was answered failed afterwards', () => {
    const responses = [{ stepIndex: 0, variant: null, kind: 'reply' as const, leads: 2 }];
    const [step] = funnelOf(placed(plain), { ...NONE, states: [state({})], responses });
    expect(step?.replied).toMatchObject({ leads: 2, share: 1, high: 1 });
  });
});
