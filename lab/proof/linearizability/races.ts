import { newId } from '../../../domain/base/ids.ts';
import { transferLine } from '../../../test/support/agency-lines.ts';
import { eventually } from '../../../test/support/app.ts';
import { phone } from '../../../test/support/carrier.ts';
import { type ApiResponse, apiClient } from '../../../test/support/client.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspace,
  createWorkspaceWithLine,
} from '../../../test/support/factories.ts';
import { callBack, replyEvent } from '../../../test/support/inbound.ts';
import { sendInvoiceEvent } from '../../../test/support/payments.ts';
import { type Race, shuffled } from './race.ts';

/** @throws if the race does not know the response. 503 means that nothing was done. */
function unexpected(input: unknown, { status, body }: ApiResponse): undefined {
  if (status === 503) return undefined;
  throw new Error(`${JSON.stringify(input)} was answered ${status} ${JSON.stringify(body)}`);
}

/** The body of a successful read. */
function read(response: ApiResponse): ApiResponse['body'] {
  return response.status === 200 ? response.body : unexpected('a read', response);
}

type Decision = 'approve' | 'reject' | 'mark_sent';
interface Resolved {
  status: string;
  channel: string | null;
}
/** If the signal is lost on a busy machine, the sweep starts the workflow after two and a half minutes at most. */
const DRAFTED_WITHIN_MS = 180_000;
const DRAFTED: Resolved = { status: 'drafted', channel: null };
const DECIDED = { approve: 'approved', reject: 'rejected', mark_sent: 'claimed' } as const;

/** Decisions about a draft, an answer from the inbox, and readers. */
export const draftDecisions: Race<Resolved, Decision | 'answer' | 'read', Resolved & { won?: boolean }> = {
  name: 'decisions about a draft',
  clients: () => [
    ...shuffled<Decision>(['approve', 'reject', 'mark_sent']).map((decision) => [
      decision,
      'read' as const,
      decision,
    ]),
    ['answer', 'read'],
    ['read', 'read', 'read'],
  ],
  model: {
    initial: DRAFTED,
    step(state, input, output) {
      const isOpen = state.status === 'drafted';
      if (input === 'answer') return [isOpen ? { status: 'approved', channel: 'inbox_direct_send' } : state];
      if (input === 'read') return !output || isSame(output, state) ? [state] : [];
      const after = isOpen ? { status: DECIDED[input], channel: 'api' } : state;
      return !output ||
        (output.won === isOpen && output.status === after.status && (isOpen || isSame(output, state)))
        ? [after]
        : [];
    },
  },
  async prepare(site) {
    const { key, lineId, api } = await createWorkspaceWithLine(site);
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    const contact = phone();
    await callBack(site, lineId, replyEvent(contact, 'Is it still free?'));
    const listed = async (url: string) => {
      const answer = await apiClient(url, key)('GET', '/api/knowledge-base/auto-replies');
      return read(answer)?.autoReplies[0];
    };
    const { replyId } = await eventually(() => listed(site.url), DRAFTED_WITHIN_MS);
    return async (input, url) => {
      const call = apiClient(url, key);
      if (input === 'read') {
        const shown = await listed(url);
        return shown && { status: shown.status, channel: shown.approvalChannel };
      }
      const response =
        input === 'answer'
          ? await call('POST', '/api/inbox/send-reply', { phone: contact, message: 'By hand' })
          : await call('POST', '/api/knowledge-base/auto-replies', { replyId, action: input });
      const { status, body } = response;
      if (status === 201) return { status: 'answered', channel: null };
      if (status === 200) return { status: body.status, channel: null, won: true };
      if (status === 409) return { status: body.status, channel: body.approvalChannel, won: false };
      return unexpected(input, response);
    };
  },
};
const isSame = (a: Resolved, b: Resolved): boolean => a.status === b.status && a.channel === b.channel;

type Home = 0 | 1;
type LineInput = { to: Home } | 'owner' | { has: Home };
type LineOutput = { from: Home } | { owner: Home } | { has: boolean } | 'refused';

/** Transfers of one line between two workspaces, the agency's view and that of each workspace. */
export const lineTransfers: Race<Home, LineInput, LineOutput> = {
  name: 'transfers of a line',
  clients: () => [
    [{ to: 1 }, { to: 0 }],
    [{ to: 1 }, 'owner', { to: 0 }],
    [{ to: 0 }, { to: 1 }],
    ['owner', { has: 0 }, 'owner'],
    [{ has: 1 }, { has: 0 }, { has: 1 }],
  ],
  model: {
    initial: 0,
    step(state, input, output) {
      if (input === 'owner')
        return !output || (typeof output === 'object' && 'owner' in output && output.owner === state)
          ? [state]
          : [];
      if ('has' in input)
        return !output ||
          (typeof output === 'object' && 'has' in output && output.has === (input.has === state))
          ? [state]
          : [];
      // It is being moved by somebody else, and the caller may try again.
      if (output === 'refused') return [state];
      return !output || (typeof output === 'object' && 'from' in output && output.from === state)
        ? [input.to]
        : [];
    },
  },
  async prepare(site) {
    const { agency, first, second } = await createAgencyWithTwoWorkspaces(site);
    const homes = [first, second] as const;
    const lineId = await createLine(site, first.id);
    const numberOf = (workspaceId: string): Home => (workspaceId === first.id ? 0 : 1);
    return async (input, url) => {
      const call = apiClient(url, agency.key);
      if (input === 'owner') {
        const body = read(await call('GET', '/api/agency/lines'));
        if (!body) return undefined;
        const shown = body.lines.filter(({ _id }: { _id: string }) => _id === lineId);
        if (shown.length !== 1) throw new Error(`the agency sees the line ${shown.length} times`);
        return { owner: numberOf(shown[0].workspaceId) };
      }
      if ('has' in input) {
        const body = read(await apiClient(url, homes[input.has].key)('GET', '/api/lines/by-user'));
        return body && { has: body.lines.some(({ _id }: { _id: string }) => _id === lineId) };
      }
      const response = await transferLine(call, lineId, homes[input.to]);
      if (response.status === 200) return { from: numberOf(response.body.fromWorkspaceId) };
      return response.status === 409 ? 'refused' : unexpected(input, response);
    };
  },
};

interface Kept {
  body: number;
  id: string;
}
type KeyInput = { send: number } | 'count';
type KeyOutput = { id: string; replayed: boolean } | 'reused' | { ids: string[] };

/** Requests with one idempotency key, of which some have another body. */
export const idempotencyKeys: Race<Kept | null, KeyInput, KeyOutput> = {
  name: 'an idempotency key',
  clients: () => [
    ...shuffled([0, 0, 1]).map((send): KeyInput[] => [{ send }, 'count', { send }]),
    [{ send: 0 }, { send: 1 }],
    ['count', 'count', 'count'],
  ],
  model: {
    initial: null,
    step(state, input, output) {
      if (input === 'count') {
        const ids = state ? [state.id] : [];
        const seen = typeof output === 'object' && 'ids' in output ? output.ids : null;
        return !output || JSON.stringify(seen) === JSON.stringify(ids) ? [state] : [];
      }
      if (!output) return [state ?? { body: input.send, id: '' }];
      if (output === 'reused') return state !== null && state.body !== input.send ? [state] : [];
      if ('ids' in output) return [];
      if (state === null) return output.replayed ? [] : [{ body: input.send, id: output.id }];
      return output.replayed && state.body === input.send && state.id === output.id ? [state] : [];
    },
  },
  async prepare(site) {
    const { key } = await createWorkspaceWithLine(site);
    const [idempotencyKey, recipientPhone] = [newId(), phone()];
    const scheduledDate = new Date(Date.now() + 86_400_000).toISOString();
    return async (input, url) => {
      const call = apiClient(url, key);
      if (input === 'count') {
        const body = read(await call('GET', '/api/messages'));
        return body && { ids: body.messages.map(({ _id }: { _id: string }) => _id) };
      }
      const message = { message: `Text ${input.send}`, recipientPhone, scheduledDate };
      const response = await call('POST', '/api/messages', message, { 'idempotency-key': idempotencyKey });
      const { status, body, headers } = response;
      if (status === 201) return { id: body._id, replayed: headers.get('idempotent-replayed') === 'true' };
      return status === 409 && body.code === 'IDEMPOTENCY_KEY_REUSED'
        ? 'reused'
        : unexpected(input, response);
    };
  },
};

type Payment = 'awaiting_payment' | 'paid' | 'canceled';

/** Callbacks of a payment, cancellations and reads of a line request. */
export const linePayments: Race<Payment, 'paid' | 'cancel' | 'read', Payment | 'ok' | 'refused'> = {
  name: 'the payment of a line request',
  clients: () => [
    ['paid', 'read', 'paid'],
    ['paid', 'cancel'],
    ['cancel', 'read'],
    ['read', 'read', 'read'],
  ],
  model: {
    initial: 'awaiting_payment',
    step(state, input, output) {
      if (input === 'read') return !output || output === state ? [state] : [];
      const isOpen = state === 'awaiting_payment';
      if (input === 'paid') return [isOpen ? 'paid' : state];
      if (!output) return [isOpen ? 'canceled' : state];
      return output === (isOpen ? 'ok' : 'refused') ? [isOpen ? 'canceled' : state] : [];
    },
  },
  async prepare(site) {
    const workspace = await createWorkspace(site);
    const line = { firstName: 'Ada', lastName: 'Lovelace', channelType: 'email' };
    const { body: requested } = await workspace.api('POST', '/api/line-requests', line);
    const lineId = requested.line._id as string;
    const invoiceId = String(requested.paymentUrl.split('/').at(-1));
    const fact = { type: 'invoice.paid', workspaceId: workspace.id, lineId, invoiceId } as const;
    return async (input, url) => {
      if (input === 'paid') {
        // Each of them is an event of its own: what is paid twice is paid once.
        const { status } = await sendInvoiceEvent({ ...site, url }, fact);
        return status === 200 ? 'ok' : unexpected(input, { status, body: null, headers: new Headers() });
      }
      const call = apiClient(url, workspace.key);
      if (input === 'read') {
        const status = read(await call('GET', `/api/line-requests/${lineId}`))?.status;
        return ['provisioning', 'active'].includes(status) ? 'paid' : status;
      }
      const response = await call('POST', `/api/line-requests/${lineId}`, { action: 'cancel' });
      if (response.status === 200) return 'ok';
      return response.status === 409 ? 'refused' : unexpected(input, response);
    };
  },
};

type OptOutInput = 'opt_out' | 'opt_in' | 'read' | 'send';
type OptOutOutput = boolean | 'ok' | 'sent' | 'refused';

/** Messages to an address that is opted out and in again; a message is under way until its outcome is seen. */
export const optOuts: Race<boolean, OptOutInput, OptOutOutput> = {
  name: 'opt-outs against sends',
  clients: () => [
    ['opt_out', 'read', ...(Math.random() < 0.5 ? (['opt_in'] as const) : [])],
    ['send', 'send'],
    ['send', 'read'],
    ['read', 'send'],
  ],
  model: {
    initial: false,
    step(isOut, input, output) {
      if (input === 'opt_out') return [true];
      if (input === 'opt_in')
        return output === undefined || output === (isOut ? 'ok' : 'refused') ? [false] : [];
      if (input === 'read') return output === undefined || output === isOut ? [isOut] : [];
      return output === undefined || output === (isOut ? 'refused' : 'sent') ? [isOut] : [];
    },
  },
  async prepare(site) {
    const { key } = await createWorkspaceWithLine(site);
    const address = phone();
    return async (input, url) => {
      const call = apiClient(url, key);
      if (input === 'read') return read(await call('GET', `/api/opt-outs/${address}`))?.optedOut;
      if (input === 'opt_out') {
        const response = await call('POST', '/api/opt-outs', { address });
        return response.status === 201 ? 'ok' : unexpected(input, response);
      }
      if (input === 'opt_in') {
        const response = await call('DELETE', `/api/opt-outs/${address}`);
        if (response.status === 404) return 'refused';
        return response.status === 200 ? 'ok' : unexpected(input, response);
      }
      const message = { message: `Hello ${newId()}`, recipientPhone: address };
      const response = await call('POST', '/api/messages', message);
      if (response.status !== 201) return unexpected(input, response);
      return eventually(async () => {
        const { status, errorMessage } = (await call('GET', `/api/messages/${response.body._id}`)).body;
        if (status === 'failed') return errorMessage === 'recipient_opted_out' ? 'refused' : undefined;
        return ['sent', 'delivered'].includes(status) ? 'sent' : undefined;
      }, 120_000);
    };
  },
};
