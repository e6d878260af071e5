import { afterEach, expect, test } from 'vitest';
import { setClock } from '#domain/base/clock.ts';
import { nextWait } from './workspace-time.ts';

afterEach(() => setClock(new Date(), performance.now(), 0));

test.each([-300, 0, 300])(
  'a workflow waits as long as PostgreSQL says, whose clock is %i seconds ahead',
  (seconds) => {
    const database = Date.now() + seconds * 1000;
    setClock(new Date(database), performance.now(), 0);
    const { waitMs } = nextWait({ nextAt: new Date(database + 20_000).toISOString() }) as { waitMs: number };
    expect(waitMs).toBeGreaterThan(19_000);
    expect(waitMs).toBeLessThanOrEqual(20_000);
  },
);
