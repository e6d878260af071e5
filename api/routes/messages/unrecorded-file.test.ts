import { expect, test, vi } from 'vitest';
import { deleteUnrecorded } from './unrecorded-file.ts';

test('a stored file is deleted only if its row certainly does not exist', async () => {
  const storage = { delete: vi.fn(async () => {}) };
  await deleteUnrecorded(storage, 'recorded', async () => true);
  await deleteUnrecorded(storage, 'unknown', () => Promise.reject(new Error('the connection was lost')));
  await deleteUnrecorded(storage, 'refused', async () => false);
  expect(storage.delete.mock.calls).toEqual([['refused']]);
});
