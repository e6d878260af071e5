import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import {
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
import { ask, auditOf, DANA, refusalOf } from '#test/support/operators.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { draftQuery, progressQuery } from '#workflows/messages/queries.ts';
import {
  archiveCampaign,
  decide,
  pauseCampaign,
  pauseLine,
  resumeCampaign,
} from '#workflows/messages/updates.ts';
import { aiDraftId, campaignWorkflowId, linePacerId } from '#workflows/messages/wake.ts';

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
      'the draft is approved through the dashboard or an operator',
    );
    expect(await signalsOf(app, workflowId)).toEqual(['contactWrote', 'approve']);
    expect(await auditOf(app, desk.workspace.id)).toContain(`Dana: draft.decided ${replyId} maintenance`);
    const again = updateWorkflow(app.temporal, { workflowId, workspaceId: desk.workspace.id }, decide, {
      ...DANA,
      action: 'reject',
    });
    const refused = await refusalOf(again);
    expect(refused.type).toBe('DRAFT_ALREADY_RESOLVED');
    expect(refused.details).toEqual([{ status: 'approved', approvalChannel: 'dashboard' }]);
  });

  it('is decided once by the first of fifty simultaneous decisions from the API and operators', async () => {
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const actions = ['approve', 'reject', 'mark_sent'] as const;
    const decisions = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const action = actions[index % 3] ?? 'approve';
        // The server accepts ten updates of one workflow at a time.
        if (index % 5 > 0) return (await decideDraft(desk, replyId, action)).status === 200;
        const order = { by: `Operator ${index}`, action };
        return ask(app.temporal, aiDraftId(replyId), decide, order).then(
          () => true,
          () => false,
        );
      }),
    );
    expect(decisions.filter(Boolean)).toHaveLength(1);
    const winner = actions[decisions.indexOf(true) % 3];
    expect(
      await draftFor(
        desk,
        contact,
        { approve: 'approved', reject: 'rejected', mark_sent: 'claimed' }[winner ?? 'approve'],
      ),
    ).toBeTruthy();
    if (winner === 'approve') await eventually(async () => (await sentTo(app, contact)).length === 1);
    await app.temporal.workflow.getHandle(aiDraftId(replyId)).result();
    expect((await sentTo(app, contact)).length).toBe(winner === 'approve' ? 1 : 0);
    const events = ['message.ai_draft_approved', 'message.ai_draft_rejected'].flatMap((event) =>
      eventsOf(desk, event).filter(({ data }) => data.replyId === replyId),
    );
    expect(events.length).toBeLessThanOrEqual(1);
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

describe('a campaign that an operator pauses', () => {
  it('stays paused until it is resumed, and ends when it is archived', async () => {
    const lineId = await createLine(app, workspace.id);
    const line = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
    // Paused, so that the campaign keeps running during the test.
    await updateWorkflow(app.temporal, line, pauseLine, DANA);
    const { listId } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now], start: true });
    const workflowId = campaignWorkflowId(id);
    const campaign = app.temporal.workflow.getHandle(workflowId);
    await eventually(async () => (await campaign.query(progressQuery)).progress?.running === 1);

    const tell = (update: typeof pauseCampaign) => ask(app.temporal, workflowId, update, DANA);
    expect(await tell(pauseCampaign)).toEqual({ campaignId: id, status: 'paused' });
    expect(await tell(pauseCampaign)).toEqual({ campaignId: id, status: 'paused' });
    expect(await statusOf(id)).toBe('paused');
    await eventually(async () => (await campaign.query(progressQuery)).state === 'paused');
    expect(await tell(resumeCampaign)).toEqual({ campaignId: id, status: 'active' });
    expect(await statusOf(id)).toBe('active');
    expect(await tell(archiveCampaign)).toEqual({ campaignId: id, status: 'archived' });
    expect(await campaign.result()).toBe('the campaign is archived or deleted');
    expect(await signalsOf(app, workflowId)).toEqual(
      expect.arrayContaining(['started', 'paused', 'resumed', 'archived']),
    );
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
