import { describe, expect, it } from 'vitest';
import { optOutKeyword } from './opt-out.ts';

describe('opt-out words', () => {
  it.each(['STOP', 'stopall', 'Unsubscribe', 'CANCEL', 'end', 'Quit', 'REVOKE', 'optout', '  stop\n'])(
    '%j opts out',
    (text) => {
      expect(optOutKeyword(text)).toBe('stop');
    },
  );

  it.each(['START', 'unstop', ' yes '])('%j opts in', (text) => {
    expect(optOutKeyword(text)).toBe('start');
  });

  it.each(['please stop', 'STOP it', 'stop.', '', 'yes please', 'unsubscribed'])(
    '%j says neither',
    (text) => {
      expect(optOutKeyword(text)).toBeNull();
    },
  );
});
