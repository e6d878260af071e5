import { expect, test } from 'vitest';
import * as workflows from '#workflows/index.ts';
import { TYPES } from './ops-replay.ts';

test('replays workflows of every type before a release', () => {
  expect(TYPES.toSorted()).toEqual(Object.keys(workflows).toSorted());
});
