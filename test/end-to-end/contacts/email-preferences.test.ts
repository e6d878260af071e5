import { beforeAll, describe, expect, it } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';

const PATH = '/api/email-preferences';
const DEFAULTS = {
  line_health: { enabled: true },
  campaign: { enabled: true },
  reply: { enabled: true, mode: 'debounce_5min' },
  billing: { enabled: true },
  system_error: { enabled: true },
};

let app: TestApp;
let agency: { id: string; key: string };
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  agency = await createAgency(app);
});

describe('the email preferences of a workspace', () => {
  beforeAll(async () => {
    api = apiClient(app.url, (await createWorkspace(app)).key);
  });

  it('are all on by default, with replies collected for five minutes', async () => {
    expect(await api('GET', PATH)).toMatchObject({
      status: 200,
      body: { success: true, preferences: DEFAULTS },
    });
  });

  it('are changed field by field', async () => {
    await api('POST', PATH, { preferences: { reply: { mode: 'daily_digest' } } });
    const { body } = await api('POST', PATH, {
      preferences: { reply: { enabled: false }, billing: { enabled: false } },
    });
    const expected = {
      ...DEFAULTS,
      reply: { enabled: false, mode: 'daily_digest' },
      billing: { enabled: false },
    };
    expect(body).toEqual({ success: true, preferences: expected });
    expect((await api('GET', PATH)).body.preferences).toEqual(expected);
  });

  it('keep all simultaneous changes', async () => {
    const own = apiClient(app.url, (await createWorkspace(app)).key);
    const types = ['line_health', 'campaign', 'reply', 'billing', 'system_error'];
    await Promise.all(
      types.map((type) => own('POST', PATH, { preferences: { [type]: { enabled: false } } })),
    );
    const { preferences } = (await own('GET', PATH)).body;
    expect(types.filter((type) => preferences[type].enabled)).toEqual([]);
  });

  it.each([
    ['an empty body', {}, 'preferences'],
    ['a text as preferences', { preferences: 'off' }, 'preferences'],
    ['a list as preferences', { preferences: [] }, 'preferences'],
    ['null as preferences', { preferences: null }, 'preferences'],
    ['an unknown type', { preferences: { newsletter: { enabled: true } } }, 'preferences.newsletter'],
    ['an unknown mode', { preferences: { reply: { mode: 'weekly' } } }, 'preferences.reply.mode'],
    ['a text as enabled', { preferences: { billing: { enabled: 'no' } } }, 'preferences.billing.enabled'],
  ])('cannot be changed by %s, and the error names the field', async (_, body, path) => {
    const before = (await api('GET', PATH)).body;
    expect(await api('POST', PATH, body)).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR', issues: [{ path }] },
    });
    expect((await api('GET', PATH)).body).toEqual(before);
  });

  it('refuse an agency key with 403 and a missing credential with 401', async () => {
    expect(await apiClient(app.url, agency.key)('GET', PATH)).toMatchObject({
      status: 403,
      body: { code: 'AGENCY_KEY_WRONG_ENDPOINT' },
    });
    expect((await apiClient(app.url, '')('POST', PATH, { preferences: {} })).status).toBe(401);
  });
});

describe('the email preferences of an agency', () => {
  it("are switched in all of the agency's workspaces and in no other", async () => {
    const [first, second, stranger] = await Promise.all([
      createWorkspace(app, { agency_id: agency.id, name: 'First' }),
      createWorkspace(app, { agency_id: agency.id, name: 'Second' }),
      createWorkspace(app),
    ]);
    await apiClient(app.url, first.key)('POST', PATH, { preferences: { reply: { mode: 'all' } } });
    const own = apiClient(app.url, agency.key);
    const off = Object.fromEntries(Object.keys(DEFAULTS).map((type) => [type, { enabled: false }]));

    const { status, body } = await own('POST', '/api/agency/email-preferences', { enabled: false });
    expect(status).toBe(200);
    expect(body.success).toBe(true);
    expect(body.workspaces).toHaveLength(2);
    expect(body.workspaces).toContainEqual({
      workspaceId: first.id,
      name: 'First',
      preferences: { ...off, reply: { enabled: false, mode: 'all' } },
    });
    expect(body.workspaces).toContainEqual({
      workspaceId: second.id,
      name: 'Second',
      preferences: { ...off, reply: { enabled: false, mode: 'debounce_5min' } },
    });
    expect((await own('GET', '/api/agency/email-preferences')).body).toEqual(body);
    expect((await apiClient(app.url, stranger.key)('GET', PATH)).body.preferences).toEqual(DEFAULTS);

    await own('POST', '/api/agency/email-preferences', { enabled: true });
    expect((await apiClient(app.url, first.key)('GET', PATH)).body.preferences).toEqual({
      ...DEFAULTS,
      reply: { enabled: true, mode: 'all' },
    });
    expect((await own('POST', '/api/agency/email-preferences', {})).status).toBe(400);
  });
});
