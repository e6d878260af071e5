import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { countFailure } from '#db/queries/operations/set-aside.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { FAILURES_TO_SET_ASIDE } from '#domain/base/set-aside.ts';
import { newId } from '#domain/base/ids.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { aiDraftId, linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { inaccessible } from './browser.ts';
import { openConsole, signInTo } from './console-tab.ts';

const TEMPORAL_UI = 'https://temporal.example.com';

const tab = openConsole();
let workspace: TestWorkspace;
let api: RunningApi;
let session: string;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app);
  session = await signIn(tab.app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
  const { config } = tab.app;
  api = await startApi({
    ...config,
    port: 0,
    metricsPort: null,
    operators: [workspace.ownerId],
    temporalUi: TEMPORAL_UI,
  });
});
afterAll(() => api.stop());

const open = (path: string) => signInTo(tab.page, { ...tab.app, url: api.url }, session, path);
const pageOf = (workflowId: string): string =>
  `${TEMPORAL_UI}/namespaces/${tab.app.config.temporal.namespace}/workflows/${encodeURIComponent(workflowId)}`;

test('an operator sees what is set aside, its workflow in Temporal, and gives it up', async () => {
  const { page } = tab;
  const replyId = newId();
  const workflowId = aiDraftId(replyId);
  const work = { workspaceId: workspace.id, workflowId, activity: 'draftReply' };
  const failure = { subject: { workspaceId: workspace.id, replyId }, reason: 'Error: a text of the model' };
  for (let n = 0; n < FAILURES_TO_SET_ASIDE; n += 1)
    await countFailure(systemDb(tab.app.pools), work, failure);

  await open('/operations');
  await page.getByText('Error: a text of the model').waitFor();
  expect(await page.getByRole('link', { name: 'Workflow in Temporal' }).getAttribute('href')).toBe(
    pageOf(workflowId),
  );
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Give up' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Give up' }).click();
  await page.getByText('Nothing is set aside').waitFor();
});

test('a line leads an operator to its workflow in Temporal, and nobody else', async () => {
  const { page } = tab;
  const lineId = await createLine(tab.app, workspace.id);
  await open(`/lines?line=${lineId}`);
  const link = page.getByRole('link', { name: 'Workflow in Temporal' });
  await link.waitFor();
  expect(await link.getAttribute('href')).toBe(pageOf(linePacerId(lineId)));

  await tab.signInAsOwner(workspace, `/lines?line=${lineId}`);
  await page.getByRole('dialog').getByRole('heading', { name: 'Health' }).waitFor();
  expect(await link.count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Operations' }).count()).toBe(0);
});
