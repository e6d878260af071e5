import { describe, expect, it } from 'vitest';
import { Busy } from '#domain/base/fair-queue.ts';
import { createReceivedBytes } from './received-bytes.ts';

describe('received bytes', () => {
  it('are bounded for a workspace, which leaves room for others', () => {
    const bytes = createReceivedBytes({ inAll: 10, workspace: 6 });
    const [first, second] = [bytes.ofFile('org_1'), bytes.ofFile('org_1')];
    first.add(4);
    second.add(2);
    expect(() => second.add(1)).toThrow(Busy);
    bytes.ofFile('org_2').add(4);
    expect(() => bytes.ofFile('org_3').add(1)).toThrow(Busy);
    first.release();
    second.add(1);
    bytes.ofFile('org_3').add(3);
  });

  it('are free again once, however often they are released', () => {
    const bytes = createReceivedBytes({ inAll: 4, workspace: 4 });
    const file = bytes.ofFile('org_1');
    file.add(4);
    file.release();
    file.release();
    const next = bytes.ofFile('org_1');
    next.add(4);
    expect(() => next.add(1)).toThrow(Busy);
  });
});
