import pLimit from 'p-limit';
import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { type HubSpotStandIn, startHubSpot } from '#simulator/hubspot.ts';
import { startTelegram, type TelegramStandIn } from '#simulator/telegram.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createAgency, createLead, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { callBack, replyEvent, writeIn } from '#test/support/inbound.ts';
import { startMailbox, type TestMailbox } from '#test/support/mailbox.ts';
import { mailsTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { type Step, type Terminator, watchWorkers } from '#test/support/terminations.ts';
import { runSweep } from '#test/support/workflows.ts';
import { dripDrainerId, webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
let terminator: Terminator;
let endpoint: Endpoint;
let telegram: TelegramStandIn;
let hubspot: HubSpotStandIn;
const mailboxes: TestMailbox[] = [];

beforeAll(async () => {
  terminator = watchWorkers(() => app.temporal);
  endpoint = await startEndpoint();
  telegram = await startTelegram();
  hubspot = await startHubSpot();
  const chats = { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_URL: telegram.url };
  app = await startTestApp({
    environment: { INBOX_POLL_SECONDS: '1', HUBSPOT_API_URL: hubspot.url, CRM_POLL_SECONDS: '1', ...chats },
  });
});
afterAll(async () => {
  await app.stop();
  await Promise.all([endpoint.close(), telegram.stop(), hubspot.stop()]);
  await Promise.all(mailboxes.map((mailbox) => mailbox.stop()));
});

/** An activity that a workflow repeats, such as a poll, is interrupted this often. */
const REPETITIONS = 2;

/**
 * Where to interrupt a workflow that runs these activities. "After" an activity leaves what "before" the next one leaves, so
 * that only the last one needs it.
 */
function stepsOf(activities: readonly string[]): Step[] {
  return activities.flatMap((type, index) => {
    if (activities.slice(0, index).filter((before) => before === type).length >= REPETITIONS) return [];
    const ends: Step['when'][] = ['before', 'during', 'canceled'];
    if (index === activities.length - 1) ends.push('after');
    if (index < REPETITIONS) ends.push('paused');
    return ends.map((when) => ({ activity: index + 1, when }));
  });
}

/** How many scenarios start at the same time. */
const AT_ONCE = 6;

interface Desk {
  workspaceId: string;
  /** The owner of the workflow: the workspace or its agency. */
  owner: string;
  lineId: string;
  api: ApiClient;
}
type IsDone = () => Promise<boolean>;

const db = <T extends z.ZodType>(type: T, query: ReturnType<typeof sql.fragment>) =>
  withSystem(app.pools, (system) => system.oneFirst(sql.type(z.object({ value: type }))`${query}`));
const provisioningOf = (lineId: string, status: string) =>
  db(z.boolean(), sql.fragment`select provisioning_status = ${status} value from lines where id = ${lineId}`);

/** Makes a workflow run whose rounds the worker process would take itself. */
const takesOver = (workflowId: string, workspaceId: string) =>
  signalWorkflow(app.temporal, workflowId, workspaceId, 'overdue');

/** Gives each kind of workflow some work. @returns a check that all of it is done, and nothing twice. */
const SCENARIOS: Record<string, (desk: Desk) => Promise<IsDone>> = {
  async linePacer({ api }) {
    const recipients = [phone(), phone(), phone()];
    for (const recipientPhone of recipients)
      await api('POST', '/api/messages', { message: 'Hello', recipientPhone });
    return once(recipients, async (to) => (await sentTo(app, to)).length);
  },

  async dripDrainer({ api, workspaceId }) {
    for (let count = 0; count < 3; count += 1)
      await api('POST', '/api/drip', { message: 'Hello', recipientPhone: phone() });
    await takesOver(dripDrainerId(workspaceId), workspaceId);
    return () =>
      db(
        z.boolean(),
        sql.fragment`select count(*) = 3 value from messages where workspace_id = ${workspaceId}`,
      );
  },

  async webhookDispatcher({ api, workspaceId }) {
    await api('POST', '/api/webhooks', { name: 'all', url: endpoint.url, events: ['message.sent'] });
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
    await takesOver(webhookDispatcherId(workspaceId), workspaceId);
    const told = () => endpoint.received.filter(({ json }) => json.workspaceId === workspaceId).length;
    return once([0], async () => told());
  },

  async mailSender({ api }) {
    const recipients = [`${newId()}@example.test`, `${newId()}@example.test`];
    for (const email of recipients) await api('POST', '/api/team/invite', { email, role: 'org:member' });
    return once(recipients, async (to) => (await mailsTo(app, to)).length);
  },

  async agencyMailSender({ owner: agencyId }) {
    const { ownerId } = await db(
      z.object({ ownerId: z.string() }),
      sql.fragment`select jsonb_build_object('ownerId', user_id) value from agency_members where agency_id = ${agencyId}`,
    );
    const signedIn = await sessionClient(app, { userId: ownerId });
    const email = `${newId()}@example.test`;
    await signedIn('POST', '/api/agency/admins', { email });
    return once([email], async (to) => (await mailsTo(app, to)).length);
  },

  async notifier({ api, workspaceId }) {
    await api('POST', '/api/line-requests', { ...REQUEST, areaCode: '0002' });
    return () =>
      db(z.boolean(), sql.fragment`select count(*) = 1 value from mails where workspace_id = ${workspaceId}`);
  },

  async attachmentFetcher({ workspaceId, lineId }) {
    await writeIn(app, { lineId, from: phone(), text: 'Photos', attachments: [photo('1'), photo('2')] });
    return () =>
      db(
        z.boolean(),
        sql.fragment`select count(*) = 2 value from attachments where workspace_id = ${workspaceId} and status = 'stored'`,
      );
  },

  async lineRequest({ api }) {
    const { body } = await api('POST', '/api/line-requests', REQUEST);
    return () => provisioningOf(body.line._id, 'active');
  },

  async mailboxReader({ api, workspaceId }) {
    const mailbox = await startMailbox();
    mailboxes.push(mailbox);
    const lineId = await createLine(app, workspaceId, 'email');
    const config = { url: app.smtpUrl, imapUrl: mailbox.url };
    // The servers may be too slow for the product's test of the connection while everything else starts.
    await eventually(() => api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config }));
    const headers = { From: 'Ada <ada@example.com>', To: 'dana@line.example', Subject: 'Hello' };
    mailbox.deliver({ ...headers, 'Message-ID': `<${newId()}@their.example>` }, 'I have a question');
    return () =>
      db(
        z.boolean(),
        sql.fragment`select count(*) = 1 value from inbound_messages where workspace_id = ${workspaceId}`,
      );
  },

  async campaign(desk) {
    const { newList, newCampaign, statusOf } = campaignHelpers(() => ({
      app,
      workspace: workspaceOf(desk),
      ...desk,
    }));
    const recipients = [phone(), phone()];
    const { listId } = await newList(recipients.map((number) => ({ firstName: 'Ada', phone: number })));
    const id = await newCampaign({ listId, steps: [now], start: true });
    const sent = once(recipients, async (to) => (await sentTo(app, to)).length);
    return async () => (await sent()) && (await statusOf(id)) === 'completed';
  },

  async personalizer(desk) {
    await desk.api('PUT', '/api/knowledge-base', { mode: 'off', instructions: '' });
    const { newList, newCampaign } = campaignHelpers(() => ({ app, workspace: workspaceOf(desk), ...desk }));
    const to = phone();
    const { listId } = await newList([{ firstName: 'Ada', phone: to }]);
    await newCampaign({ listId, steps: [now], start: true, needsAiPersonalization: true });
    return once([to], async (number) => (await sentTo(app, number)).length);
  },

  async optOutJudge({ api, lineId }) {
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 600 });
    await writeIn(app, { lineId, from: phone(), text: 'Can I stop by tomorrow?' });
    return async () =>
      (await api('GET', '/api/opt-outs/suspected?status=dismissed')).body.suspicions.length === 1;
  },

  async autopilotDryRun({ api, lineId }) {
    const contact = phone();
    await writeIn(app, { lineId, from: contact, text: 'Yes, Saturday sounds good' });
    await api('POST', '/api/inbox/send-reply', { phone: contact, message: 'See you then' });
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    await api('POST', '/api/knowledge-base/dry-run', {});
    return async () => (await api('GET', '/api/knowledge-base/dry-run')).body.dryRun.status === 'done';
  },

  async optInCollector({ api, lineId }) {
    const link = { name: 'Poster', lineId, text: 'Join', consent: 'I want offers' };
    const { code, _id } = (await api('POST', '/api/opt-in-links', link)).body;
    await writeIn(app, { lineId, from: phone(), text: `Join ${code}` });
    return async () => (await api('GET', `/api/opt-in-links/${_id}`)).body.funnel.leads === 1;
  },

  async chatMessenger({ api, workspaceId }) {
    const chatId = telegram.group();
    await insertRow(app, 'chat_connections', {
      workspace_id: workspaceId,
      id: newId(),
      provider: 'telegram',
      scope: 'workspace',
      user_id: 'user_1',
      status: 'linked',
      chat_id: String(chatId),
      external_user_id: '1',
    });
    const contact = phone();
    await api('POST', '/api/knowledge-base/drafts', { phone: contact, message: 'Hello' });
    // Once at least: a provider of chats recognizes no repeated request.
    return async () => telegram.messages.some((message) => message.chatId === chatId);
  },

  async crmConnection({ api }) {
    const [there, later] = [phone(), phone()];
    hubspot.addContact({ phone: there });
    await api('POST', '/api/crm-connections', { provider: 'hubspot', token: hubspot.token });
    hubspot.addContact({ phone: later });
    const leadsWith = async (address: string) =>
      (await api('GET', `/api/leads?search=${encodeURIComponent(address)}`)).body.leads.length;
    return once([there, later], leadsWith);
  },

  async ruleRunner({ api, lineId }) {
    const greeting = { name: 'Greeting', on: 'reply', do: [{ reply: { text: 'One moment' } }] };
    await api('POST', '/api/rules', greeting);
    const contacts = [phone(), phone()];
    for (const from of contacts) await writeIn(app, { lineId, from, text: 'Hello' });
    return once(contacts, async (to) => (await sentTo(app, to)).length);
  },

  async availabilityJob({ api, workspaceId }) {
    const leadIds = [
      await createLead(app, workspaceId, { phones: [phone()] }),
      await createLead(app, workspaceId, { phones: [phone()] }),
    ];
    const { body } = await api('POST', '/api/leads/check-availability', { leadIds });
    const job = `/api/leads/check-availability/jobs/${body.jobId}`;
    return async () => (await api('GET', job)).body.status === 'completed';
  },

  async leadImport({ api }) {
    const listId = (await api('POST', '/api/lists', { name: 'Imported' })).body.list._id;
    const csv = ['Email', 'ada@example.com', 'grace@example.com', ''].join('\n');
    const headers = { 'content-type': 'text/csv' };
    const { body } = await api('POST', `/api/lists/${listId}/import`, csv, headers);
    return async () => {
      const { status } = (await api('GET', `/api/lists/${listId}/imports/${body.importId}`)).body;
      return status === 'completed';
    };
  },

  async listDeletion({ api, workspaceId }) {
    const listId = (await api('POST', '/api/lists', { name: 'Large' })).body.list._id;
    await withSystem(app.pools, (system) =>
      system.query(sql.type(z.unknown())`
        insert into leads (workspace_id, id, list_id, first_name, last_name)
        select ${workspaceId}, substr(md5(${listId} || n), 1, 24), ${listId}, 'Ada', '' from generate_series(1, 2500) n returning null`),
    );
    await api('DELETE', `/api/lists/${listId}`);
    return () =>
      db(z.boolean(), sql.fragment`select count(*) = 0 value from leads where workspace_id = ${workspaceId}`);
  },

  async contactErasure({ api, workspaceId }) {
    const leadId = await createLead(app, workspaceId, { phones: [phone()] });
    await withSystem(app.pools, (system) =>
      system.query(sql.type(z.unknown())`
        insert into messages (workspace_id, id, channel, status, address, lead_id, body, scheduled_at, source)
        select ${workspaceId}, lpad(to_hex(n), 24, '0'), 'imessage', 'failed', '+14155550123', ${leadId}, 'Hello', now(), 'api'
        from generate_series(1, 500) n returning null`),
    );
    await api('DELETE', `/api/leads/${leadId}?erase=true`);
    return () =>
      db(
        z.boolean(),
        sql.fragment`select count(*) = 500 and (select count(*) = 0 from contact_erasures where workspace_id = ${workspaceId}) value
          from messages where workspace_id = ${workspaceId} and body = '' and starts_with(address, 'erased:')`,
      );
  },

  async lineHandover({ api, workspaceId, lineId }) {
    await createLine(app, workspaceId);
    await withSystem(app.pools, (system) =>
      system.query(sql.type(z.unknown())`
        insert into messages (workspace_id, id, channel, status, line_id, address, scheduled_at, source)
        select ${workspaceId}, substr(md5(${lineId} || n), 1, 24), 'imessage', 'scheduled', ${lineId}, '+1415' || (5000000 + n),
          now() + interval '1 day', 'api' from generate_series(1, 4500) n returning null`),
    );
    await api('PATCH', `/api/lines/${lineId}`, { isActive: false });
    return () =>
      db(z.boolean(), sql.fragment`select count(*) = 0 value from messages where line_id = ${lineId}`);
  },

  async aiDraft({ api, lineId }) {
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    const contact = phone();
    await callBack(app, lineId, replyEvent(contact, 'Is it still free?'));
    const replies = '/api/knowledge-base/auto-replies';
    return async () => {
      const [draft] = (await api('GET', replies)).body.autoReplies;
      if (draft?.status === 'drafted')
        await api('POST', replies, { replyId: draft.replyMessageId ?? draft.replyId, action: 'approve' });
      return (await sentTo(app, contact)).length === 1;
    };
  },
};

const REQUEST = { channelType: 'imessage', firstName: 'Dana', lastName: 'Line' };

const photo = (name: string) => ({ name: `${name}.png`, contentType: 'image/png', base64: 'iVBORw0KGgo=' });

/** A check that every count is 1. @throws if something happened twice. */
function once<T>(subjects: T[], countOf: (subject: T) => Promise<number>): IsDone {
  return async () => {
    const counts = await Promise.all(subjects.map(countOf));
    expect(Math.max(...counts)).toBeLessThanOrEqual(1);
    return counts.every((count) => count === 1);
  };
}

const workspaceOf = ({ workspaceId }: Desk) => ({ id: workspaceId });

async function start(type: string, step?: Step): Promise<Run> {
  const agency = await createAgency(app);
  const { id: workspaceId, key } = await createWorkspace(app, { agency_id: agency.id });
  const lineId = await createLine(app, workspaceId);
  const owner = type === 'agencyMailSender' ? agency.id : workspaceId;
  const client = apiClient(app.url, key);
  const api: ApiClient = async (...request) => {
    const response = await client(...request);
    if (response.status >= 300)
      throw new Error(`${type}: ${response.status} ${JSON.stringify(response.body)}`);
    return response;
  };
  const desk = { workspaceId, owner, lineId, api };
  if (step) terminator.terminateAt(type, owner, step);
  const scenario = SCENARIOS[type];
  if (!scenario) throw new Error(`no scenario for ${type}`);
  return { type, desk, isDone: await scenario(desk), ...(step && { step }) };
}

/** Makes every workflow of the workspaces overdue and runs the sweep. */
async function sweep(workspaceIds: string[]): Promise<void> {
  await withSystem(app.pools, (system) =>
    system.query(sql.type(z.unknown())`
      update workflow_wakes set wake_at = least(wake_at, now()), sweep_at = now()
      where wake_at < now() + interval '20 days' and workspace_id = any(${sql.array(workspaceIds, 'text')})`),
  );
  await runSweep(app);
}

interface Run {
  type: string;
  step?: Step;
  desk: Desk;
  isDone: IsDone;
}

async function isOver({ type, step, desk, isDone }: Run): Promise<boolean> {
  // Some workflows need fewer activities this time.
  const isInterrupted =
    !step ||
    terminator.isDone(type, desk.owner) ||
    terminator.activitiesOf(type, desk.owner).length < step.activity;
  return isInterrupted && (await isDone());
}

/** Waits until all work is done. @returns what the workflows do whose work is not done in time. */
async function unfinished(
  runs: readonly Run[],
  help = async (_left: readonly Run[]): Promise<void> => {},
): Promise<string[]> {
  let left = [...runs];
  const errors = new Map<Run, Error>();
  await eventually(async () => {
    const over = await Promise.all(
      left.map((run) =>
        isOver(run).catch((error: Error) => {
          errors.set(run, error);
          return false;
        }),
      ),
    );
    left = left.filter((_, index) => !over[index]);
    if (left.length > 0) await help(left);
    return left.length === 0;
  }, 180_000).catch(() => {});
  return Promise.all(
    left.map(async (run) => {
      const { type, step, desk } = run;
      const name = step ? `${type} ${step.when} ${step.activity}` : `${type} uninterrupted`;
      return `${name}: ${await terminator.describe(type, desk.owner)}; ${errors.get(run)?.message ?? 'no error'}`;
    }),
  );
}

describe('a workflow that is terminated or paused at any of its steps', () => {
  it('is started again by the sweep and completes its work once', async () => {
    const uninterrupted = await Promise.all(Object.keys(SCENARIOS).map((type) => start(type)));
    expect(await unfinished(uninterrupted)).toEqual([]);

    const steps = uninterrupted.flatMap(({ type, desk }) =>
      stepsOf(terminator.activitiesOf(type, desk.owner)).map((step) => ({ type, step })),
    );
    const interrupted = await pLimit(AT_ONCE).map(steps, ({ type, step }) => start(type, step));
    const sweepAll = (left: readonly Run[]) => sweep(left.map(({ desk }) => desk.workspaceId));
    expect(await unfinished(interrupted, sweepAll)).toEqual([]);
  }, 420_000);
});
