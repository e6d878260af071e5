import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import {
  autoReplies,
  type Copilot,
  createCopilot,
  createDraft,
  decideDraft,
  draftFor,
  eventsOf,
  receiveReply,
} from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import {
  ask,
  auditOf,
  DANA,
  decisionsOf,
  detailsOf,
  refusalOf,
  signalByHand,
} from '#test/support/operators.ts';
import { activitiesOf, signalsOf } from '#test/support/workflows.ts';
import type { SignalName } from '#workflows/protocol/signals.ts';
import { draftQuery, progressQuery } from '#workflows/protocol/queries.ts';
import {
  archiveCampaign,
  decide,
  pauseCampaign,
  pauseLine,
  resumeCampaign,
} from '#workflows/protocol/updates.ts';
import { aiDraftId, campaignWorkflowId, linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** @param value what it counts as if it succeeds. */
const succeeds = (attempt: Promise<unknown>, value = true): Promise<boolean> =>
  attempt.then(
    () => value,
    () => false,
  );

let app: OwnApp;
let receiver: Endpoint;
let desk: Copilot;
let workspace: TestWorkspace;

const { newList, newCampaign, statusOf } = campaignHelpers(() => ({
  app,
  workspace,
  api: apiClient(app.url, workspace.key),
}));

beforeAll(async () => {
  receiver = await startEndpoint();
  app = await startTestApp();
  desk = await createCopilot(app, receiver);
  workspace = await createWorkspace(app);
});
afterAll(async () => {
  await app.stop();
  await receiver.close();
});

describe('a draft that an operator decides about', () => {
  it('is approved as over the API, and the audit log records it', async () => {
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const workflowId = aiDraftId(replyId);
    await eventually(
      async () => (await app.temporal.workflow.getHandle(workflowId).query(draftQuery)).state === 'drafted',
    );
    const verdict = await ask(app.temporal, workflowId, decide, { ...DANA, action: 'approve' });
    expect(verdict).toMatchObject({ replyId, status: 'approved' });
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    expect(await app.temporal.workflow.getHandle(workflowId).result()).toBe(
      'the draft is approved by operator Dana',
    );
    expect(await signalsOf(app, workflowId)).toEqual(['contactWrote']);
    expect(await auditOf(app, desk.workspace.id)).toContain(`Dana: draft.decided ${replyId} maintenance`);
    const again = updateWorkflow(app.temporal, { workflowId, workspaceId: desk.workspace.id }, decide, {
      ...DANA,
      action: 'reject',
    });
    const refused = await refusalOf(again);
    expect(refused.type).toBe('DRAFT_ALREADY_RESOLVED');
    expect(refused.details).toEqual([{ status: 'approved', approvalChannel: 'dashboard' }]);
  });

  it('is decided once by the first of fifty, over the API, from the inbox, by an update or by a signal', async () => {
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const id = aiDraftId(replyId);
    const actions = ['approve', 'reject', 'mark_sent'] as const;
    const signals = { approve: 'approve', reject: 'reject', mark_sent: 'markSent' } as const;
    const answer = { phone: contact, message: 'We answer ourselves' };
    let answers = 0;
    const won = await Promise.all(
      Array.from({ length: 50 }, async (_, index): Promise<boolean> => {
        const action = actions[index % 3] ?? 'approve';
        const order = { by: `Racer ${index}`, action };
        // The server accepts ten updates of one workflow at a time.
        if (index % 10 < 2) return succeeds(ask(app.temporal, id, decide, order));
        // An answer is sent whether or not it decides.
        if (index % 10 === 2) {
          // On a busy machine, one that waits too long for the others is refused.
          const { status } = await desk.call('POST', '/api/inbox/send-reply', answer);
          expect([201, 503]).toContain(status);
          if (status === 201) answers += 1;
          return false;
        }
        if (index % 10 < 6) return succeeds(signalByHand(app.temporal, id, signals[action], order), false);
        return (await decideDraft(desk, replyId, action)).status === 200;
      }),
    );
    await app.temporal.workflow.getHandle(id).result();
    const decisions = await decisionsOf(app, replyId);
    expect(decisions).toHaveLength(1);
    const { status, approvalChannel } = (await autoReplies(desk)).find(
      (draft: { replyId: string }) => draft.replyId === replyId,
    );
    expect(['approved', 'rejected', 'claimed']).toContain(status);
    const isAnswer = approvalChannel === 'inbox_direct_send';
    const isSignal = /^operator Racer \d?[345]$/.test(decisions[0] ?? '');
    expect(won.filter(Boolean)).toHaveLength(isAnswer || isSignal ? 0 : 1);
    const isDraftSent = status === 'approved' && !isAnswer;
    await eventually(async () => (await sentTo(app, contact)).length === answers + Number(isDraftSent));
    expect(answers).toBeGreaterThan(0);
    const event = { approved: 'message.ai_draft_approved', rejected: 'message.ai_draft_rejected' }[
      status as 'approved'
    ];
    const events = () =>
      ['message.ai_draft_approved', 'message.ai_draft_rejected'].flatMap((name) =>
        eventsOf(desk, name).filter(({ data }) => data.replyId === replyId),
      );
    await eventually(async () => events().length === (status === 'claimed' ? 0 : 1));
    expect(events().map((found) => found.event)).toEqual(status === 'claimed' ? [] : [event]);
  });

  it.each([
    ['approve', 'approved'],
    ['reject', 'rejected'],
    ['markSent', 'claimed'],
  ] as const)('is decided by the signal %s that is sent by hand', async (signal, status) => {
    const { replyId } = await createDraft(desk, phone());
    const id = aiDraftId(replyId);
    await signalByHand(app.temporal, id, signal, DANA);
    expect(await app.temporal.workflow.getHandle(id).result()).toBe(
      `the draft is ${status} by operator Dana`,
    );
    expect(await decisionsOf(app, replyId)).toEqual(['operator Dana']);
    expect((await decideDraft(desk, replyId, 'approve')).body).toMatchObject({
      code: 'DRAFT_ALREADY_RESOLVED',
      status,
      approvalChannel: 'dashboard',
    });
  });

  it('is sent when a signal without an argument approves it, and one event says so', async () => {
    const contact = phone();
    const { replyId, draftMessage } = await createDraft(desk, contact);
    await signalByHand(app.temporal, aiDraftId(replyId), 'approve');
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    expect(await decisionsOf(app, replyId)).toEqual(['operator Temporal signal']);
    const events = () =>
      eventsOf(desk, 'message.ai_draft_approved').filter(({ data }) => data.replyId === replyId);
    await eventually(async () => events().length === 1);
    expect(events()[0]).toMatchObject({ message: draftMessage, data: { approvalChannel: 'dashboard' } });
  });

  it('is sent as edited by a signal, and stays open after one that is refused', async () => {
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const id = aiDraftId(replyId);
    await signalByHand(app.temporal, id, 'approve', { by: 'Dana', message: '' });
    await eventually(async () => (await detailsOf(app.temporal, id)).includes('approve was refused'));
    await signalByHand(app.temporal, id, 'reject', 'Dana');
    await eventually(async () => (await detailsOf(app.temporal, id)).includes('reject was refused'));
    expect(await draftFor(desk, contact)).toMatchObject({ replyId });
    await signalByHand(app.temporal, id, 'approve', { ...DANA, message: 'Yes, it is.' });
    expect(await eventually(async () => (await sentTo(app, contact)).map(({ text }) => text)[0])).toBe(
      'Yes, it is.',
    );
  });

  it('takes its decision from the API, and one look tells who made it', async () => {
    const { replyId } = await createDraft(desk, phone());
    const id = aiDraftId(replyId);
    await eventually(
      async () => (await app.temporal.workflow.getHandle(id).query(draftQuery)).state === 'drafted',
    );
    await decideDraft(desk, replyId, 'reject');
    expect(await app.temporal.workflow.getHandle(id).result()).toMatch(
      /^the draft is rejected through the API by key [0-9a-f]{24}$/,
    );
    expect(await activitiesOf(app, id)).toEqual(['draftReply', 'lookAtDraft']);
  });

  it('cannot be decided before it is written', async () => {
    const slow = await createCopilot(app, receiver, { debounceSeconds: 600 });
    const contact = phone();
    await receiveReply(slow, contact, 'Is it still free?');
    const id = await eventually(async () => {
      for await (const { workflowId } of app.temporal.workflow.list({
        query: `WorkspaceId = '${slow.workspace.id}' and State = 'waiting'`,
      }))
        if (workflowId.startsWith('ai-draft:')) return workflowId;
      return undefined;
    });
    const refused = await refusalOf(ask(app.temporal, id, decide, { ...DANA, action: 'approve' }));
    expect(['INVALID_STATE', 'NOT_FOUND']).toContain(refused.type);
    expect((await refusalOf(ask(app.temporal, id, decide, { by: '', action: 'approve' }))).type).toBe(
      'VALIDATION_ERROR',
    );
  });
});

describe('a campaign that sends nothing', () => {
  it('says what its leads wait for, in its details, its query and over the API', async () => {
    const [paused, other] = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
    for (const lineId of [paused, other]) {
      const line = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
      await updateWorkflow(app.temporal, line, pauseLine, DANA);
    }
    const { listId } = await newList(['Ada', 'Bo', 'Cy'].map((firstName) => ({ firstName, phone: phone() })));
    const steps = [now, { message: 'Two', delay: { days: 2 } }];
    const id = await newCampaign({ listId, steps, eligibleLineIds: [paused], start: true });
    const campaign = app.temporal.workflow.getHandle(campaignWorkflowId(id));
    const waiting = [{ reason: 'line_paused', leads: 3, lines: 1 }];
    await eventually(async () => (await campaign.query(progressQuery)).progress?.running === 3);
    expect(await campaign.query(progressQuery)).toMatchObject({ progress: { waiting } });
    expect(await detailsOf(app.temporal, campaignWorkflowId(id))).toContain(
      'Active: leads under way: 3, finished: 0, stopped: 0; 3 wait: line_paused on 1 line.',
    );
    const read = async () =>
      (await apiClient(app.url, workspace.key)('GET', `/api/campaigns/${id}`)).body.waiting;
    expect(await read()).toEqual(waiting);
    await apiClient(app.url, workspace.key)('POST', `/api/campaigns/${id}/pause`);
    expect(await read()).toEqual([{ reason: 'campaign_paused', leads: 3, lines: 1 }]);
  });
});

describe('a campaign whose leads end one after the other', () => {
  it('is told of the last one only', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 2 });
    const { listId } = await newList(['Ada', 'Bo', 'Cy'].map((firstName) => ({ firstName, phone: phone() })));
    const id = await newCampaign({ listId, steps: [now], eligibleLineIds: [lineId], start: true });
    await eventually(async () => (await statusOf(id)) === 'completed', 30_000);
    expect(await signalsOf(app, campaignWorkflowId(id))).toEqual(['started', 'leadsDone']);
  });
});

describe('a campaign with a step that decides', () => {
  it('lets each lead go on in the activity that looks at it', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 2 });
    const { listId } = await newList(['Ada', 'Bo'].map((firstName) => ({ firstName, phone: phone() })));
    const steps = [now, { kind: 'wait', for: { days: 3 } }, { message: 'Two' }];
    const id = await newCampaign({ listId, steps, eligibleLineIds: [lineId], start: true });
    const activities = () => activitiesOf(app, campaignWorkflowId(id));
    await eventually(async () => {
      const { progress } = await app.temporal.workflow.getHandle(campaignWorkflowId(id)).query(progressQuery);
      return progress?.waiting?.some(({ reason, leads }) => reason === 'campaign_step' && leads === 2);
    });
    expect((await activities()).filter((activity) => activity !== 'lookAtCampaign')).toEqual(['enterLeads']);
  });
});

describe('the details of a workflow', () => {
  it('link to its line, or its campaign, in the console', async () => {
    const lineId = await createLine(app, workspace.id);
    const { listId } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now], eligibleLineIds: [lineId], start: true });
    const linkOf = (workflowId: string) =>
      eventually(async () =>
        app.temporal.workflow
          .getHandle(workflowId)
          .describe()
          .then((workflow) => workflow.staticDetails())
          .catch(() => undefined),
      );
    const consoleUrl = `${app.url}/console`;
    expect(await linkOf(campaignWorkflowId(id))).toBe(`[Console](${consoleUrl}/campaigns/${id})`);
    expect(await linkOf(linePacerId(lineId))).toBe(`[Console](${consoleUrl}/lines?line=${lineId})`);
  });
});

describe('a campaign that signals by hand', () => {
  it('pause, resume and archive as over the API', async () => {
    const lineId = await createLine(app, workspace.id);
    const line = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
    // Paused, so that the campaign keeps running during the test.
    await updateWorkflow(app.temporal, line, pauseLine, DANA);
    const { listId } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now], eligibleLineIds: [lineId], start: true });
    const workflowId = campaignWorkflowId(id);
    const campaign = app.temporal.workflow.getHandle(workflowId);
    await eventually(async () => (await campaign.query(progressQuery)).progress?.running === 1);
    const tell = (signal: SignalName, ...order: unknown[]) =>
      signalByHand(app.temporal, workflowId, signal, ...order);

    await tell('paused', DANA);
    await eventually(async () => (await statusOf(id)) === 'paused');
    await eventually(async () => (await campaign.query(progressQuery)).state === 'paused');
    await tell('resumed');
    await eventually(async () => (await statusOf(id)) === 'active');
    // As if the signal of an earlier pause over the API came late.
    await tell('paused', { committed: true });
    await tell('started', DANA);
    await tell('archived', DANA);
    expect(await campaign.result()).toBe('the campaign is archived or deleted');
    expect(await statusOf(id)).toBe('archived');
    expect((await auditOf(app, workspace.id)).filter((entry) => entry.includes(id))).toEqual([
      `Dana: campaign.paused ${id} maintenance`,
      `Temporal signal: campaign.resumed ${id} `,
      `Dana: campaign.archived ${id} maintenance`,
    ]);
  });
});

describe('a campaign that an operator pauses', () => {
  it('stays paused until it is resumed, ends when it is archived, and refuses what cannot be stored', async () => {
    const lineId = await createLine(app, workspace.id);
    const line = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
    // Paused, so that the campaign keeps running during the test.
    await updateWorkflow(app.temporal, line, pauseLine, DANA);
    const { listId } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now], start: true });
    const workflowId = campaignWorkflowId(id);
    const campaign = app.temporal.workflow.getHandle(workflowId);
    await eventually(async () => (await campaign.query(progressQuery)).progress?.running === 1);

    await signalByHand(app.temporal, workflowId, 'paused', { by: 'Da\0na' });
    await eventually(async () =>
      (await detailsOf(app.temporal, workflowId)).includes('by: must not contain the NUL character'),
    );
    const tell = (update: typeof pauseCampaign) => ask(app.temporal, workflowId, update, DANA);
    expect(await tell(pauseCampaign)).toEqual({ campaignId: id, status: 'paused' });
    expect(await tell(pauseCampaign)).toEqual({ campaignId: id, status: 'paused' });
    expect(await statusOf(id)).toBe('paused');
    await eventually(async () => (await campaign.query(progressQuery)).state === 'paused');
    expect(await tell(resumeCampaign)).toEqual({ campaignId: id, status: 'active' });
    expect(await statusOf(id)).toBe('active');
    expect(await tell(archiveCampaign)).toEqual({ campaignId: id, status: 'archived' });
    expect(await campaign.result()).toBe('the campaign is archived or deleted');
    expect(await signalsOf(app, workflowId)).toEqual(['started', 'paused']);
    const refused = refusalOf(
      updateWorkflow(app.temporal, { workflowId, workspaceId: workspace.id }, resumeCampaign, DANA),
    );
    expect((await refused).type).toBe('INVALID_STATE');
    expect((await auditOf(app, workspace.id)).filter((entry) => entry.includes(id))).toEqual([
      `Dana: campaign.paused ${id} maintenance`,
      `Dana: campaign.resumed ${id} maintenance`,
      `Dana: campaign.archived ${id} maintenance`,
    ]);
  });
});
