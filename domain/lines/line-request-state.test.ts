import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Grant } from '../billing/entitlement.ts';
import {
  advanceLineRequest,
  type LineRequestEvent,
  type LineRequestState,
  startLineRequest,
} from './line-request-state.ts';

/** A minimal payment provider: its invoices, and the callbacks it has sent and may repeat. */
interface Provider {
  invoices: Map<number, 'open' | 'paid' | 'void' | 'credited'>;
  callbacks: Extract<LineRequestEvent, { round: number }>[];
}

/** The service under test: the state machine and its payment provider. */
class Service {
  state: LineRequestState;
  readonly provider: Provider = { invoices: new Map(), callbacks: [] };

  constructor(grant: Grant) {
    this.state = startLineRequest(grant);
  }

  /** @returns whether the state machine allowed the event. */
  apply(event: LineRequestEvent): boolean {
    const next = advanceLineRequest(this.state, event);
    if (next) this.state = next;
    return next !== null;
  }

  /** Does at the provider what one round still requires; repeating it must be harmless. */
  settle(round: number): void {
    const { invoices } = this.provider;
    const owed = this.state.invoices[round];
    if (owed === 'opening' || owed === 'void_due') {
      if (!invoices.has(round)) invoices.set(round, 'open');
      this.apply({ type: 'invoice_opened', round });
    }
    if (owed === 'void_due') {
      if (invoices.get(round) === 'open') invoices.set(round, 'void');
      this.apply({ type: invoices.get(round) === 'void' ? 'invoice_voided' : 'invoice_paid', round });
    }
    if (owed === 'credit_due') {
      invoices.set(round, 'credited');
      this.apply({ type: 'invoice_credited', round });
    }
  }
}

/** The expected state as a customer would describe it, independent of the state machine. */
interface Model {
  status: LineRequestState['status'];
  round: number;
}

type Command = fc.Command<Model, Service>;

const TRANSITIONS: Record<string, string[]> = {
  awaiting_payment: ['provisioning', 'canceled'],
  provisioning: ['active', 'failed'],
  failed: ['provisioning', 'awaiting_payment'],
  active: [],
  canceled: [],
};

function expectAgreement(model: Model, service: Service): void {
  expect(service.state.status).toBe(model.status);
  expect(service.state.round).toBe(model.round);
  const { status, paymentStatus } = service.state;
  if (status === 'awaiting_payment') expect(['pending', 'failed']).toContain(paymentStatus);
  if (status === 'canceled') expect(paymentStatus).toBe('canceled');
  if (status === 'provisioning' || status === 'active')
    expect(['not_required', 'paid', 'invoiced']).toContain(paymentStatus);
}

/** A command that the machine must allow in exactly one status. */
function customer(
  name: string,
  event: LineRequestEvent,
  from: Model['status'],
  to: Model['status'],
): Command {
  return {
    check: () => true,
    run(model, service) {
      const allowed = model.status === from;
      expect(service.apply(event)).toBe(allowed);
      if (allowed) model.status = to;
      expectAgreement(model, service);
    },
    toString: () => name,
  };
}

const retry = (grant: Grant): Command => ({
  check: () => true,
  run(model, service) {
    const allowed = model.status === 'failed';
    expect(service.apply({ type: 'retry', grant })).toBe(allowed);
    if (allowed)
      Object.assign(model, {
        status: grant === 'payment' ? 'awaiting_payment' : 'provisioning',
        round: model.round + 1,
      });
    expectAgreement(model, service);
  },
  toString: () => `retry(${grant})`,
});

/** The customer pays at the provider's page; the callback arrives later, if at all. */
const pay = (round: number): Command => ({
  check: () => true,
  run(model, service) {
    const { invoices, callbacks } = service.provider;
    if (invoices.get(round) === 'open') {
      invoices.set(round, 'paid');
      callbacks.push({ type: 'invoice_paid', round });
    }
    expectAgreement(model, service);
  },
  toString: () => `pay(${round})`,
});

const decline = (round: number): Command => ({
  check: () => true,
  run(model, service) {
    if (service.provider.invoices.get(round) === 'open')
      service.provider.callbacks.push({ type: 'payment_failed', round });
    expectAgreement(model, service);
  },
  toString: () => `decline(${round})`,
});

function receiveCallback(model: Model, service: Service, event: Provider['callbacks'][number]): void {
  const paid =
    event.type === 'invoice_paid' && event.round === model.round && model.status === 'awaiting_payment';
  expect(service.apply(event)).toBe(true);
  if (paid) model.status = 'provisioning';
}

/** Any earlier callback arrives, in any order and any number of times. */
const deliver = (index: number): Command => ({
  check: () => true,
  run(model, service) {
    const { callbacks } = service.provider;
    const event = callbacks[index % Math.max(1, callbacks.length)];
    if (event) receiveCallback(model, service, event);
    expectAgreement(model, service);
  },
  toString: () => `deliver(${index})`,
});

const settle = (round: number): Command => ({
  check: () => true,
  run(model, service) {
    service.settle(round);
    expectAgreement(model, service);
  },
  toString: () => `settle(${round})`,
});

const round = fc.integer({ min: 1, max: 3 });
const grant = fc.constantFrom<Grant>('included', 'invoiced', 'payment', 'payment');
const command = fc.oneof(
  { weight: 3, arbitrary: round.map(pay) },
  { weight: 4, arbitrary: fc.nat(20).map(deliver) },
  { weight: 4, arbitrary: round.map(settle) },
  { weight: 1, arbitrary: round.map(decline) },
  {
    weight: 1,
    arbitrary: fc.constant(customer('cancel', { type: 'cancel' }, 'awaiting_payment', 'canceled')),
  },
  {
    weight: 1,
    arbitrary: fc.constant(customer('included', { type: 'included' }, 'awaiting_payment', 'provisioning')),
  },
  {
    weight: 1,
    arbitrary: fc.constant(customer('activated', { type: 'activated' }, 'provisioning', 'active')),
  },
  { weight: 2, arbitrary: fc.constant(customer('refused', { type: 'refused' }, 'provisioning', 'failed')) },
  { weight: 2, arbitrary: grant.map(retry) },
);

/** Delivers all callbacks and settles all rounds. */
function settleAll(model: Model, service: Service): void {
  const rounds = [1, 2, 3, 4, 5, 6, 7, 8];
  for (let again = 0; again < 3; again += 1) {
    for (const event of service.provider.callbacks) receiveCallback(model, service, event);
    for (const number of rounds) service.settle(number);
  }
  expectAgreement(model, service);
}

describe('a line request', () => {
  it('follows the model, and never keeps a payment without a line or a line without a payment', () => {
    fc.assert(
      fc.property(grant, fc.commands([command], { maxCommands: 40 }), (first, commands) => {
        const service = new Service(first);
        const model: Model = { status: service.state.status, round: 1 };
        fc.modelRun(() => ({ model, real: service }), commands);
        settleAll(model, service);

        const { state, provider } = service;
        const served = state.status === 'provisioning' || state.status === 'active';
        const kept = [...provider.invoices]
          .filter(([, status]) => status === 'paid')
          .map(([number]) => number);
        expect(kept).toEqual(served && state.paymentStatus === 'paid' ? [state.round] : []);
        const open = [...provider.invoices]
          .filter(([, status]) => status === 'open')
          .map(([number]) => number);
        expect(open).toEqual(state.status === 'awaiting_payment' ? [state.round] : []);
        expect(
          Object.values(state.invoices).filter((status) => status.endsWith('_due') || status === 'opening'),
        ).toEqual([]);
      }),
      { numRuns: 3000 },
    );
  });

  it('follows the documented transitions only, and a repeated event changes nothing', () => {
    const events: fc.Arbitrary<LineRequestEvent> = fc.oneof(
      fc.record({
        type: fc.constantFrom(
          'invoice_opened',
          'invoice_paid',
          'invoice_voided',
          'payment_failed',
          'invoice_credited',
        ),
        round,
      }),
      fc.constantFrom<LineRequestEvent>(
        { type: 'cancel' },
        { type: 'included' },
        { type: 'activated' },
        { type: 'refused' },
      ),
      grant.map((again): LineRequestEvent => ({ type: 'retry', grant: again })),
    );
    fc.assert(
      fc.property(grant, fc.array(events, { maxLength: 30 }), (first, told) => {
        let state = startLineRequest(first);
        for (const event of told) {
          const next = advanceLineRequest(state, event);
          if (next === null) continue;
          const moved = next.status !== state.status;
          const again = 'round' in event ? advanceLineRequest(next, event) : next;
          expect([!moved || TRANSITIONS[state.status]?.includes(next.status), again === next]).toEqual([
            true,
            true,
          ]);
          state = next;
        }
      }),
      { numRuns: 3000 },
    );
  });

  it.each([
    [
      'paid before the provider confirms its invoice',
      ['invoice_paid', 'invoice_opened'],
      'provisioning',
      'paid',
    ],
    ['paid twice', ['invoice_opened', 'invoice_paid', 'invoice_paid'], 'provisioning', 'paid'],
    ['paid after a decline', ['invoice_opened', 'payment_failed', 'invoice_paid'], 'provisioning', 'paid'],
    [
      'declined after it was paid',
      ['invoice_opened', 'invoice_paid', 'payment_failed'],
      'provisioning',
      'paid',
    ],
    ['voided at the provider', ['invoice_opened', 'invoice_voided'], 'canceled', 'void'],
    ['paid after it was canceled', ['invoice_opened', 'cancel', 'invoice_paid'], 'canceled', 'credit_due'],
    [
      'paid for, then refused by the carrier',
      ['invoice_opened', 'invoice_paid', 'refused'],
      'failed',
      'credit_due',
    ],
  ] as const)('ends in the documented status when it is %s', (_, types, status, invoice) => {
    const state = types.reduce<LineRequestState>(
      (current, type) => advanceLineRequest(current, { type, round: 1 }) ?? current,
      startLineRequest('payment'),
    );
    expect(state).toMatchObject({ status, invoices: { 1: invoice } });
  });
});
