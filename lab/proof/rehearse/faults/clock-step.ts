import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../fault.ts';

const STEPS = ['+1h', '-1h'];
/** The alert waits for a minute. */
const STEP_MS = 75_000;

export const clockStep: Fault = {
  name: 'clock',
  text: `The clock of one worker is stepped by ${STEPS.join(', then by ')}, for ${STEP_MS / 1000} s each (libfaketime)`,
  seconds: (STEPS.length * STEP_MS) / 1000 + 60,
  alerts: ['LinepaceClockWrong'],
  async run({ installation: { of, current, folder, faketime } }) {
    const worker = of('worker').at(-1);
    const clock = join(folder, 'clock');
    writeFileSync(clock, '+0');
    const env = {
      ...current.env,
      LD_PRELOAD: faketime,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
    await worker?.stop();
    await worker?.start({ ...current, env });
    for (const step of STEPS) {
      writeFileSync(clock, step);
      await pause(STEP_MS);
    }
    await worker?.stop();
    await worker?.start(current);
    return 'It kept working.';
  },
};
