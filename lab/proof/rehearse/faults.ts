import type { Fault } from './fault.ts';
import { clockStep } from './faults/clock-step.ts';
import { diskFull } from './faults/disk-full.ts';
import { kill } from './faults/kill.ts';
import { databaseRestart, temporalRestart, workerDown } from './faults/outages.ts';
import { upgrade } from './faults/upgrade.ts';

/** In the order in which they happen. */
export const FAULTS: readonly Fault[] = [
  upgrade,
  kill,
  databaseRestart,
  temporalRestart,
  workerDown,
  diskFull,
  clockStep,
];
