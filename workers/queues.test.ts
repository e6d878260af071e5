import { describe, expect, it } from 'vitest';
import { servedQueues } from './queues.ts';

const CARRIERS = ['smtp', 'twilio'];
const namesOf = (names: string[] | null) =>
  servedQueues({ names, slots: {} }, CARRIERS).map(({ taskQueue }) => taskQueue);

describe('the queues that a worker serves', () => {
  it('are all queues unless some are named', () => {
    expect(namesOf(null)).toEqual([
      'linepace',
      'webhooks',
      'model',
      'media',
      'mail',
      'payments',
      'housekeeping',
      'carrier-smtp',
      'carrier-twilio',
    ]);
    expect(namesOf(['carrier-twilio', 'main'])).toEqual(['linepace', 'carrier-twilio']);
  });

  it('have the configured number of slots, or the default', () => {
    const queues = servedQueues(
      { names: ['model', 'media', 'carrier-smtp'], slots: { model: 3, 'carrier-smtp': 7 } },
      CARRIERS,
    );
    expect(queues.map(({ slots }) => slots)).toEqual([3, 20, 7]);
  });

  it('must exist, and the error lists every unknown name', () => {
    expect(() =>
      servedQueues({ names: ['model', 'modle', 'carrier-fax'], slots: { webhook: 3 } }, CARRIERS),
    ).toThrow(
      [
        'WORKER_QUEUES: there is no queue modle',
        'WORKER_QUEUES: there is no queue carrier-fax',
        'WORKER_SLOTS: there is no queue webhook',
      ].join('\n  '),
    );
  });
});
