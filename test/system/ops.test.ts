import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createCopilot, createDraft } from '#test/support/copilot.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { auditOf } from '#test/support/operators.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await startTestApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});
afterAll(() => app.stop());

const run = (args: string[]) => ops(args, environment(app.config));

async function verdict(...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await run(args);
  expect([status, stderr], args.join(' ')).toEqual([0, '']);
  return JSON.parse(stdout);
}

async function refusal(...args: string[]): Promise<{ error: string; code: string }> {
  const { status, stdout, stderr } = await run(args);
  expect([status, stdout], args.join(' ')).toEqual([1, '']);
  return JSON.parse(stderr) as { error: string; code: string };
}

const BY = ['--by', 'Dana', '--reason', 'maintenance'];

async function send(lineId: string, fields: object = {}): Promise<{ id: string; to: string }> {
  const to = phone();
  const body = { message: 'Hello', recipientPhone: to, fromLineId: lineId, ...fields };
  const response = await api('POST', '/api/messages', body);
  expect(response.status).toBe(201);
  return { id: response.body._id, to };
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe('npm run ops', () => {
  it('pauses and resumes a line, sends and skips its messages, and records who did', async () => {
    const lineId = await createLine(app, workspace.id);
    expect(await verdict('pause-line', lineId, ...BY)).toEqual({ lineId, isPaused: true });
    const { id: held, to } = await send(lineId);
    await eventually(
      async () => (await api('GET', `/api/messages/${held}`)).body.holdReason === 'line_paused',
    );
    expect(await verdict('timeline', held)).toMatchObject({
      messageId: held,
      waitingFor: {
        reason: 'line_paused',
        text: expect.stringContaining('The line is paused.'),
      },
    });
    expect(await verdict('resume-line', lineId, ...BY)).toEqual({ lineId, isPaused: false });
    await eventually(async () => (await sentTo(app, to)).length === 1);

    const early = await send(lineId, { scheduledDate: inAnHour() });
    expect(await verdict('send-now', lineId, '--message', early.id, ...BY)).toMatchObject({
      messageId: early.id,
    });
    await eventually(async () => (await sentTo(app, early.to)).length === 1);
    const skipped = await send(lineId, { scheduledDate: inAnHour() });
    expect(await verdict('skip-message', skipped.id, ...BY)).toEqual({
      messageId: skipped.id,
      status: 'canceled',
    });
    expect(await auditOf(app, workspace.id)).toEqual([
      `Dana: line.paused ${lineId} maintenance`,
      `Dana: line.resumed ${lineId} maintenance`,
      `Dana: message.sent_now ${early.id} maintenance`,
      `Dana: message.skipped ${skipped.id} maintenance`,
    ]);
  });

  it('checks the payment of a line request, and refuses to give up one that is not being provisioned', async () => {
    const request = { channelType: 'email', firstName: 'Ada', lastName: 'Lovelace' };
    const { line } = (await api('POST', '/api/line-requests', request)).body;
    const lineId: string = line._id;
    expect(await verdict('check-payment', lineId, ...BY)).toEqual({ lineId, status: 'awaiting_payment' });
    expect((await refusal('give-up', lineId, ...BY)).code).toBe('INVALID_STATE');
  });

  it('pauses, resumes and archives a campaign', async () => {
    await createLine(app, workspace.id);
    const { body: list } = await api('POST', '/api/lists', { name: 'List' });
    const leads = [{ firstName: 'Ada', phone: phone() }];
    await api('POST', '/api/leads', { listId: list.list._id, leads });
    const steps = [{ message: 'Hello', delay: { days: 1 } }];
    const made = await api('POST', '/api/campaigns', {
      name: 'Spring',
      listId: list.list._id,
      steps,
      start: true,
    });
    const campaignId: string = made.body.campaign._id;
    expect(await verdict('pause-campaign', campaignId, ...BY)).toEqual({ campaignId, status: 'paused' });
    expect(await verdict('resume-campaign', campaignId, ...BY)).toEqual({ campaignId, status: 'active' });
    expect(await verdict('archive-campaign', campaignId, ...BY)).toEqual({ campaignId, status: 'archived' });
    expect((await refusal('resume-campaign', campaignId, ...BY)).code).toBe('INVALID_STATE');
    expect((await api('GET', `/api/campaigns/${campaignId}`)).body.campaign.status).toBe('archived');
  });

  it('decides a draft once', async () => {
    const receiver = await startEndpoint();
    const { replyId } = await createDraft(await createCopilot(app, receiver));
    expect(await verdict('decide-draft', replyId, '--action', 'reject', ...BY)).toEqual({
      replyId,
      status: 'rejected',
      messageId: null,
    });
    expect(await refusal('decide-draft', replyId, '--action', 'approve', ...BY)).toMatchObject({
      code: 'DRAFT_ALREADY_RESOLVED',
      details: [expect.objectContaining({ status: 'rejected' })],
    });
    expect((await run(['decide-draft', replyId, '--action', 'keep', ...BY])).status).toBe(2);
    await receiver.close();
  });

  it('exits as a process with its status', async () => {
    const options = { env: { ...process.env, ...environment(app.config) } };
    const { stdout } = await promisify(execFile)(process.execPath, ['workers/ops.ts', 'sweep'], options);
    expect(JSON.parse(stdout)).toEqual({ triggered: 'sweep' });
    const unknown = promisify(execFile)(process.execPath, ['workers/ops.ts', 'timeline', newId()], options);
    await expect(unknown).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('"code": "NOT_FOUND"'),
    });
  });

  it('reports a refusal with the error code of the API', async () => {
    const { id, to } = await send(await createLine(app, workspace.id));
    await eventually(async () => (await sentTo(app, to)).length === 1);
    await eventually(async () => (await api('GET', `/api/messages/${id}`)).body.status === 'delivered');
    expect(await refusal('skip-message', id, ...BY)).toEqual({
      error: 'The message is delivered',
      code: 'MESSAGE_NOT_CANCELABLE',
    });
    for (const command of ['pause-line', 'skip-message', 'timeline'])
      expect((await refusal(command, newId(), ...BY)).code, command).toBe('NOT_FOUND');
    expect((await refusal('pause-line', 'x; drop table lines', ...BY)).code).toBe('NOT_FOUND');
  });

  it('prints its help and refuses incomplete commands', async () => {
    const help = await run(['--help']);
    expect(help.status).toBe(0);
    for (const command of ['pause-line LINE_ID --by NAME [--reason TEXT]', 'timeline MESSAGE_ID', 'sweep'])
      expect(help.stdout).toContain(`npm run ops -- ${command}`);
    for (const args of [
      ['pause-line'],
      ['pause-line', newId()],
      ['pause-line', newId(), newId(), ...BY],
      ['sweep', newId()],
      ['fly'],
      ['pause-line', newId(), '--who', 'Dana'],
      // An option that a command ignored would be trusted.
      ['pause-all-lines', '--line', newId(), ...BY],
      ['resume-all-lines', '--campaign', newId(), ...BY],
      ['set-plan', newWorkspaceId(), '--plan', 'starter', '--yes', ...BY],
      ['list-lines', '--line', newId()],
    ]) {
      const { status, stdout, stderr } = await run(args);
      expect([status, stdout], args.join(' ')).toEqual([2, '']);
      expect(stderr).toContain('npm run ops -- pause-line LINE_ID');
    }
  });

  it('reports missing configuration and an unreachable Temporal', async () => {
    expect((await ops(['sweep'], {})).stderr).toContain('DATABASE_SYSTEM_URL');
    const away = { ...environment(app.config), TEMPORAL_ADDRESS: '127.0.0.1:9' };
    const { status, stderr } = await ops(['pause-line', await createLine(app, workspace.id), ...BY], away);
    expect([status, JSON.parse(stderr).code]).toEqual([1, 'UNAVAILABLE']);
  });
});
