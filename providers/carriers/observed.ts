import type { Carrier } from './carrier.ts';

/** A call to a carrier that has ended. */
export interface CarrierCall {
  carrier: string;
  operation: 'send' | 'reconcile' | 'probe';
  /** The kind of a `SendOutcome` or `ReconcileOutcome`; of a probe, `passed` or `failed`. */
  outcome: string;
  seconds: number;
}

/** The same carrier, which reports each send, reconciliation and probe to `onCall`. */
export function observed(carrier: Carrier, onCall: (call: CarrierCall) => void): Carrier {
  async function observe<T>(
    operation: CarrierCall['operation'],
    call: Promise<T>,
    outcomeOf: (result: T) => string,
  ): Promise<T> {
    const started = performance.now();
    let outcome = 'failed';
    try {
      const result = await call;
      outcome = outcomeOf(result);
      return result;
    } finally {
      onCall({ carrier: carrier.name, operation, outcome, seconds: (performance.now() - started) / 1000 });
    }
  }
  return {
    ...carrier,
    send: (config, message, signal) =>
      observe('send', carrier.send(config, message, signal), ({ kind }) => kind),
    reconcile: (config, attempt) =>
      observe('reconcile', carrier.reconcile(config, attempt), ({ kind }) => kind),
    probe: (config, lineId, address) =>
      observe('probe', carrier.probe(config, lineId, address), () => 'passed'),
  };
}
