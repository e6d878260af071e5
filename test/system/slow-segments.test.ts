import { afterAll, beforeAll, expect, test } from 'vitest';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

test('a segment that cannot be judged in time is refused by name, and so are its conditions', async () => {
  const { api } = await createWorkspace(app);
  const leads = Array.from({ length: 30 }, (_, index) => ({ email: `a${index}@example.com` }));
  expect((await api('POST', '/api/leads', { leads })).status).toBe(201);
  const segment = { name: 'All', when: [{ field: 'email', op: 'exists' }] };
  const { _id: id } = (await api('POST', '/api/segments', segment)).body.segment;
  // Each lead takes a second to read, so that all take longer than a statement may.
  await connected(app.ownerUrl, (owner) =>
    owner.query(
      'create policy slow on leads as restrictive for select to linepace_tenant using (pg_sleep(1) is not null)',
    ),
  );
  const [one, leadsOf, created, changed] = await Promise.all([
    api('GET', `/api/segments/${id}`),
    api('GET', `/api/segments/${id}/leads`),
    api('POST', '/api/segments', { ...segment, name: 'Another' }),
    api('PATCH', `/api/segments/${id}`, { name: 'Renamed' }),
  ]);
  const late = 'cannot be judged in time for all leads of the workspace';
  const invalid = {
    status: 400,
    body: { code: 'VALIDATION_ERROR', issues: [{ path: 'when', message: late }] },
  };
  expect(one).toMatchObject({
    status: 409,
    body: { code: 'INVALID_STATE', error: `The segment ${id} ${late}` },
  });
  expect(leadsOf).toMatchObject({ status: 409, body: { error: `The segment ${late}` } });
  expect(created).toMatchObject(invalid);
  expect(changed).toMatchObject(invalid);
  const { rows } = await connected(app.ownerUrl, (owner) => owner.query('select name from segments'));
  expect(rows).toEqual([{ name: 'All' }]);
});
