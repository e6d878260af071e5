import { expect, test } from 'vitest';
import { sharedApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

test('lists, campaigns and lines are found by any part of their names, without case and accents', async () => {
  const app = await sharedApp({ worker: false });
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  const steps = [{ messageType: 'imessage', message: 'Hi', delay: { days: 0 } }];
  for (const name of ['Müller & Søn', '100 %']) {
    expect((await api('POST', '/api/lists', { name })).status).toBe(201);
    expect(await api('POST', '/api/campaigns', { name, steps })).toMatchObject({ status: 201 });
  }
  const lineId = await createLine(app, workspace.id, 'imessage', {
    first_name: 'Chloé',
    last_name: 'Åkesson',
    phone: '+14155550123',
  });
  await createLine(app, workspace.id, 'imessage', {
    first_name: 'Bo',
    last_name: 'Li',
    phone: '+14155550199',
  });

  const found = async (path: string, key: string, search: string): Promise<unknown[]> => {
    const { status, body } = await api('GET', `${path}?search=${encodeURIComponent(search)}`);
    expect(status).toBe(200);
    return body[key].map((item: Record<string, unknown>) => item.name ?? item._id);
  };
  for (const [path, key] of [
    ['/api/lists', 'lists'],
    ['/api/campaigns', 'campaigns'],
  ] as const) {
    expect(await found(path, key, 'MULLER')).toEqual(['Müller & Søn']);
    expect(await found(path, key, 'søn')).toEqual(['Müller & Søn']);
    // Signs of patterns are signs.
    expect(await found(path, key, '%')).toEqual(['100 %']);
    expect(await found(path, key, 'nothing')).toEqual([]);
  }
  expect(await found('/api/lists', 'lists', 'quick')).toEqual(['Quick Sends']);
  for (const search of ['chloe akesson', 'ÅKE', '(415) 555-0123'])
    expect(await found('/api/lines/by-user', 'lines', search)).toEqual([lineId]);
  expect(await found('/api/lines/by-user', 'lines', 'null')).toEqual([]);
  expect((await api('GET', '/api/lists?search=')).status).toBe(200);
});
