import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { EVENT_NAMES } from '../../../domain/events/event.ts';
import { newId } from '../../../domain/base/ids.ts';
import {
  type BenchResponse,
  type Caller,
  callerOf,
  contactNumber,
  reply,
  startCampaign,
} from '../../bench/support/callers.ts';
import type { Product } from '../../bench/support/product.ts';
import { createBenchWorkspace, unpaced } from '../../bench/support/workspace.ts';

/** The share of each operation. */
const SHARES = {
  drip: 0.42,
  api: 0.2,
  scheduled: 0.05,
  fallback: 0.05,
  campaign: 0.12,
  answer: 0.05,
  reply: 0.05,
  read: 0.04,
  optOut: 0.01,
  change: 0.01,
} as const;
type Kind = keyof typeof SHARES;

const LINES = 10;
/** Contacts write again, so that conversations get longer, not more numerous. */
const CONTACTS = 2000;
const STREAMS = 5;
const DRAFTS_MS = 2000;

export interface SoakLoad {
  /** Operations by kind and status. */
  readonly statuses: ReadonlyMap<string, number>;
  readonly workspaceIds: readonly string[];
  /** Works at the given rate until the signal is aborted. */
  run(perSecond: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Mixed work for some workspaces, each with a webhook, event streams and a campaign that never ends. */
export async function createSoakLoad(product: Product, workspaces: number): Promise<SoakLoad> {
  const statuses = new Map<string, number>();
  const note = (what: string): void => void statuses.set(what, (statuses.get(what) ?? 0) + 1);
  const server = createServer((request, response) => {
    note('webhook delivered');
    request.resume().on('end', () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const webhookUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const tenants: Tenant[] = [];
  for (let index = 0; index < workspaces; index += 1)
    tenants.push(await createTenant(product, webhookUrl, index));
  const kinds = Object.entries(SHARES) as [Kind, number][];
  const whole = kinds.reduce((sum, [, share]) => sum + share, 0);
  const drawKind = (): Kind => {
    let left = Math.random() * whole;
    return kinds.find(([, share]) => (left -= share) < 0)?.[0] ?? 'drip';
  };

  async function doOne(tenant: Tenant): Promise<void> {
    const kind = drawKind();
    try {
      const { status } = await operate(product, tenant, kind);
      note(`${kind} ${status}`);
    } catch {
      note(`${kind} without a response`);
    }
  }

  return {
    statuses,
    workspaceIds: tenants.map(({ id }) => id),
    async run(perSecond, signal) {
      const streams = tenants.flatMap(({ key }) =>
        Array.from({ length: STREAMS }, () => readStream(product, key, signal, () => note('stream event'))),
      );
      const drafts = tenants.map((tenant) => decideDrafts(tenant, signal, note));
      const started = performance.now();
      const open = new Set<Promise<void>>();
      for (let done = 0; !signal.aborted; done += 1) {
        const dueIn = started + (done * 1000) / perSecond - performance.now();
        if (dueIn > 0) await pause(dueIn, undefined, { signal }).catch(() => {});
        const work = doOne(tenants[done % tenants.length] as Tenant).finally(() => open.delete(work));
        open.add(work);
      }
      await Promise.all([...open, ...drafts, ...streams]);
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Tenant {
  id: string;
  key: string;
  call: Caller;
  lineIds: string[];
  campaignId: string;
  /** Its contacts' numbers begin here. */
  firstContact: number;
  /** How many leads have entered the campaign. */
  entered: number;
}

/** Contacts that enter the campaign are new each time. */
const STRANGERS = 1_000_000;

async function createTenant(product: Product, webhookUrl: string, index: number): Promise<Tenant> {
  const { id, key, lineIds } = await createBenchWorkspace(product.pools, LINES);
  await unpaced(product.pools, id);
  const call = callerOf(product.config, key);
  await call('POST', '/api/webhooks', { url: webhookUrl, events: EVENT_NAMES });
  await call('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
  await call('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
  const campaignId = await startCampaign(call, { steps: 2, stopOnReply: false });
  return { id, key, call, lineIds, campaignId, firstContact: index * 10 * CONTACTS, entered: 0 };
}

async function operate(product: Product, tenant: Tenant, kind: Kind): Promise<Pick<BenchResponse, 'status'>> {
  const { call, lineIds, campaignId, firstContact } = tenant;
  const contact = contactNumber(firstContact + Math.floor(Math.random() * CONTACTS));
  const lineId = lineIds[Math.floor(Math.random() * lineIds.length)] ?? '';
  const text = { message: `Hello ${newId()}`, recipientPhone: contact };
  switch (kind) {
    case 'drip':
      return call('POST', '/api/drip', text);
    case 'api':
      return call('POST', '/api/messages', text);
    case 'scheduled': {
      const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
      const answer = await call('POST', '/api/messages', { ...text, scheduledDate: inMinutes(5) });
      return answer.status === 201 && Math.random() < 0.5
        ? call('POST', `/api/messages/${answer.body._id}/cancel`)
        : answer;
    }
    case 'fallback':
      return call('POST', '/api/drip', {
        ...text,
        recipientPhone: `${contact.slice(0, -4)}0001`,
        sendFallbackSmsOnFailed: true,
      });
    case 'campaign': {
      tenant.entered += 1;
      const phone = contactNumber(STRANGERS + firstContact * 100 + tenant.entered);
      return call('POST', `/api/campaigns/${campaignId}/leads`, { lead: { phone } });
    }
    case 'answer':
      await reply(product.config, lineId, contact, 'Is it still free?');
      return call('POST', '/api/inbox/send-reply', { phone: contact, message: text.message });
    case 'reply':
      return { status: await reply(product.config, lineId, contact, 'Tell me more') };
    case 'read':
      return call('GET', Math.random() < 0.5 ? '/api/messages?limit=50' : '/api/replies?limit=50');
    case 'optOut':
      await call('POST', '/api/opt-outs', { address: contact });
      return call('DELETE', `/api/opt-outs/${contact}`);
    case 'change':
      return call('PATCH', `/api/lines/${lineId}`, {
        dailyTotalMessagesLimit: 9000 + Math.floor(Math.random() * 1000),
      });
  }
}

/** Approves most drafts and rejects the others. */
async function decideDrafts(
  { call }: Tenant,
  signal: AbortSignal,
  note: (what: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    await pause(DRAFTS_MS, undefined, { signal }).catch(() => {});
    try {
      const { body } = await call('GET', '/api/knowledge-base/auto-replies?status=drafted&limit=20');
      for (const { replyId } of body.autoReplies ?? []) {
        const action = Math.random() < 0.7 ? 'approve' : 'reject';
        const { status } = await call('POST', '/api/knowledge-base/auto-replies', { replyId, action });
        note(`draft ${status}`);
      }
    } catch {
      note('draft without a response');
    }
  }
}

/** Reads an event stream, and connects again when it ends. */
async function readStream(
  { config }: Product,
  key: string,
  signal: AbortSignal,
  onEvent: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const response = await fetch(`${config.publicUrl}/api/events/stream`, {
        headers: { authorization: `Bearer ${key}` },
        signal,
      });
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? [])
        for (const _ of decoder.decode(chunk as Uint8Array, { stream: true }).matchAll(/^event: /gm))
          onEvent();
    } catch {
      await pause(1000, undefined, { signal }).catch(() => {});
    }
  }
}
