import { describe, expect, it } from 'vitest';
import { isLinearizable, type Model } from './checker.ts';
import { draftDecisions, idempotencyKeys, linePayments, lineTransfers, optOuts } from './races.ts';

/** Whether the model explains requests that were made one after the other. */
function explains<S, I, O>({ model }: { model: Model<S, I, O> }, requests: [input: I, output: O][]): boolean {
  const history = requests.map(([input, output], index) => ({
    input,
    output,
    from: 2 * index,
    to: 2 * index + 1,
  }));
  return isLinearizable(model, history);
}

const approved = { status: 'approved', channel: 'api' };
const first = { id: 'a', replayed: false };

describe('a correct history is explained', () => {
  it.each([
    [
      'decisions about a draft',
      explains(draftDecisions, [
        ['approve', { ...approved, won: true }],
        ['reject', { ...approved, won: false }],
        ['read', approved],
      ]),
    ],
    [
      'transfers of a line',
      explains(lineTransfers, [
        [{ to: 1 }, { from: 0 }],
        ['owner', { owner: 1 }],
        [{ has: 0 }, { has: false }],
      ]),
    ],
    [
      'an idempotency key',
      explains(idempotencyKeys, [
        [{ send: 0 }, first],
        [{ send: 0 }, { ...first, replayed: true }],
        [{ send: 1 }, 'reused'],
        ['count', { ids: ['a'] }],
      ]),
    ],
    [
      'the payment of a line request',
      explains(linePayments, [
        ['paid', 'ok'],
        ['cancel', 'refused'],
        ['read', 'paid'],
      ]),
    ],
    [
      'opt-outs against sends',
      explains(optOuts, [
        ['send', 'sent'],
        ['opt_out', 'ok'],
        ['send', 'refused'],
        ['opt_in', 'ok'],
        ['send', 'sent'],
      ]),
    ],
  ])('%s', (_, isExplained) => expect(isExplained).toBe(true));
});

describe('a mistake of the product is noticed', () => {
  it.each([
    [
      'a second decision wins as well',
      explains(draftDecisions, [
        ['approve', { ...approved, won: true }],
        ['reject', { status: 'rejected', channel: 'api', won: true }],
      ]),
    ],
    [
      'the loser is told another decision',
      explains(draftDecisions, [
        ['approve', { ...approved, won: true }],
        ['reject', { status: 'rejected', channel: 'api', won: false }],
      ]),
    ],
    [
      'a reader sees a draft open again',
      explains(draftDecisions, [
        ['approve', { ...approved, won: true }],
        ['read', { status: 'drafted', channel: null }],
      ]),
    ],
    [
      'two transfers take the line from the same workspace',
      explains(lineTransfers, [
        [{ to: 1 }, { from: 0 }],
        [{ to: 1 }, { from: 0 }],
      ]),
    ],
    [
      'the former workspace still lists the line',
      explains(lineTransfers, [
        [{ to: 1 }, { from: 0 }],
        [{ has: 0 }, { has: true }],
      ]),
    ],
    [
      'a used key creates another message',
      explains(idempotencyKeys, [
        [{ send: 0 }, first],
        [{ send: 0 }, { id: 'b', replayed: false }],
      ]),
    ],
    [
      'a key is accepted with another body',
      explains(idempotencyKeys, [
        [{ send: 0 }, first],
        [{ send: 1 }, { ...first, replayed: true }],
      ]),
    ],
    [
      'a message that was accepted is not listed',
      explains(idempotencyKeys, [
        [{ send: 0 }, first],
        ['count', { ids: [] }],
      ]),
    ],
    [
      'a paid request is canceled',
      explains(linePayments, [
        ['paid', 'ok'],
        ['cancel', 'ok'],
      ]),
    ],
    [
      'a canceled request is paid',
      explains(linePayments, [
        ['cancel', 'ok'],
        ['paid', 'ok'],
        ['read', 'paid'],
      ]),
    ],
    [
      'a message is sent to an address that is opted out',
      explains(optOuts, [
        ['opt_out', 'ok'],
        ['send', 'sent'],
      ]),
    ],
    [
      'an opt-out is forgotten',
      explains(optOuts, [
        ['opt_out', 'ok'],
        ['read', false],
      ]),
    ],
  ])('%s', (_, isExplained) => expect(isExplained).toBe(false));
});
