import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { koaBody } from 'koa-body';
import { z } from 'zod';
import { createReports, refuseInvalid, serve } from './stand-in-server.ts';

/** Known faults of the server, by recipient. */
export type BlueBubblesFault =
  /** Refused with this status and not sent. */
  | { kind: 'refused'; status: number }
  /** 500 although it was sent, with or without the message in the response. */
  | { kind: 'error_though_sent'; code: number | null }
  /** 500, with the message in the database as not delivered. */
  | { kind: 'not_delivered'; code: number }
  /** 500 before the message was passed to Messages. */
  | { kind: 'error_unsent'; times: number }
  /** 200, and the error of the message is reported afterwards: as the Private API does. */
  | { kind: 'error_later'; code: number }
  | { kind: 'response_lost' }
  /** A file is refused after the text was sent, or the response to it is lost. */
  | { kind: 'file_refused' }
  | { kind: 'file_response_lost' }
  | { kind: 'response_late' };

export interface SentMessage {
  guid: string;
  tempGuid: string | null;
  to: string;
  service: string;
  text: string;
  file: { name: string; content: string; isAudioMessage: boolean } | null;
  /** The others, if text and files are one message. */
  moreFiles: { name: string; content: string; isAudioMessage: boolean }[];
  error: number;
  /** The message that it answers, and Apple's id of its effect. */
  replyTo: string | null;
  effectId: string | null;
  /** Whether it was actually sent. */
  left: boolean;
  chat: string;
  /** Who else is in it, if it is a group. */
  participants: string[];
  createdAt: number;
}

interface SendRequest extends Pick<SentMessage, 'to' | 'service' | 'text' | 'file'> {
  /** The group to which it goes. */
  group?: StandInGroup | undefined;
  tempGuid: string | undefined;
  rich: z.infer<typeof RichFields>;
  moreFiles?: SentMessage['moreFiles'];
}

export interface StandInGroup {
  guid: string;
  participants: string[];
}

/** A message in its database as the API shows it. Webhook calls leave out some fields. */
export interface ShownMessage {
  guid: string;
  text: string | null;
  isFromMe: boolean;
  dateCreated: number;
  [field: string]: unknown;
}

/** What was done to a message, or in a conversation, through the API. */
export interface Done {
  route: 'react' | 'edit' | 'unsend' | 'typing' | 'stop typing' | 'read' | 'share contact';
  /** Of the message or the conversation. */
  guid: string;
  at: number;
  body: Record<string, unknown>;
}

export interface BlueBubblesStandIn {
  url: string;
  /** In order. */
  done: readonly Done[];
  /** Outbound messages in its database that were sent through the API, in order. */
  messages: readonly SentMessage[];
  webhooks: readonly { id: number; url: string; events: string[] }[];
  /** The groups that it has created. */
  groups: readonly StandInGroup[];
  /** The number of requests so far, by path. */
  requests: ReadonlyMap<string, number>;
  /** How far the Mac's clock is ahead, in milliseconds. */
  clockAheadMs: number;
  /** False: the Mac cannot ask Apple's servers for the time. */
  knowsTime: boolean;
  /** How many times each webhook call is made. */
  repeats: number;
  /** The service in the GUIDs of conversations; newer systems use `any`. */
  chatService: string | null;
  /** What the server says about the Mac. */
  info: { detected_imessage: string; private_api: boolean; helper_connected: boolean };
  /** In the name and photo that the account in Messages shares. */
  accountName: string | null;
  /** Until this is done, files are not downloaded. */
  heldFiles: Promise<void>;
  /** False: it does not know who is on iMessage, as without the Private API. */
  knowsReach: boolean;
  fault(to: string, fault: BlueBubblesFault): void;
  /** Not on iMessage: the server responds 200, but sends nothing. */
  withoutIMessage(to: string): void;
  /** The number of false negatives before a positive availability check. */
  flapping(to: string, denials: number): void;
  /** Recipients without an existing conversation. */
  stranger(to: string): void;
  /** Calls all webhooks for this event and waits for their responses. */
  callWebhooks(type: string, data: unknown): Promise<void>;
  /**
   * Stores a message that somebody wrote in Messages, and reports it once: a contact, or with `isFromMe` the owner of the Mac.
   * @param fields `handle` and `chats` default to a direct conversation with `contact`.
   */
  write(contact: string, fields: Partial<ShownMessage>): Promise<ShownMessage>;
  /** Changes a stored message, and reports it once. */
  change(guid: string, fields: Partial<ShownMessage>): Promise<void>;
  stop(): Promise<void>;
}

const LATE_MS = 3000;
const BAD_REQUEST = "You've made a bad request! Please check your request params & body";
const PRIVATE_API_MISSING =
  'Please make sure you have completed the setup for the Private API, and your helper is connected!';
const NOT_FOUND = 'The requested resource was not found';
/** Some of the events that a webhook can subscribe to. */
const WEBHOOK_EVENTS = [
  '*',
  'new-message',
  'updated-message',
  'message-send-error',
  'new-server',
  'typing-indicator',
  'imessage-alias-removed',
] as const;
const REACTIONS = ['love', 'like', 'dislike', 'laugh', 'emphasize', 'question'] as const;
const Method = z.enum(['apple-script', 'private-api']).default('apple-script');
const RichFields = z.object({ selectedMessageGuid: z.string().optional(), effectId: z.string().optional() });
const TextRequest = z.object({
  ...RichFields.shape,
  chatGuid: z.string(),
  tempGuid: z.string().optional(),
  message: z.string().min(1),
  method: Method,
});
const NewChat = z.object({
  effectId: z.string().optional(),
  addresses: z.array(z.string()).min(1),
  message: z.string().optional(),
  method: Method,
  service: z.enum(['iMessage', 'SMS']).default('iMessage'),
  tempGuid: z.string().optional(),
});

/**
 * Simulates a BlueBubbles server 1.9 over HTTP, with its known faults.
 * @param hasIMessage whether a recipient is on iMessage, unless `withoutIMessage` says that it is not.
 */
export async function startBlueBubbles(
  password: string,
  hasIMessage: (to: string) => boolean = () => true,
): Promise<BlueBubblesStandIn> {
  const messages: SentMessage[] = [];
  const done: Done[] = [];
  const rows: ShownMessage[] = [];
  const requests = new Map<string, number>();
  const webhooks: { id: number; url: string; events: string[] }[] = [];
  let webhookIds = 0;
  const groups: StandInGroup[] = [];
  const faults = new Map<string, BlueBubblesFault>();
  const without = new Set<string>();
  const denials = new Map<string, number>();
  const strangers = new Set<string>();
  const isReachable = (to: string): boolean => hasIMessage(to) && !without.has(to);
  const inFlight = new Set<string>();
  const stopping = new AbortController();
  const reports = createReports();

  const standIn: BlueBubblesStandIn = {
    url: '',
    done,
    messages,
    webhooks,
    groups,
    requests,
    clockAheadMs: 0,
    knowsTime: true,
    repeats: 1,
    chatService: null,
    info: { detected_imessage: 'dana@line.example', private_api: false, helper_connected: false },
    accountName: 'Dana Line',
    heldFiles: Promise.resolve(),
    knowsReach: true,
    fault: (to, fault) => void faults.set(to, fault),
    withoutIMessage: (to) => void without.add(to),
    flapping: (to, times) => void denials.set(to, times),
    stranger: (to) => void strangers.add(to),
    async callWebhooks(type, data) {
      const subscribed = webhooks.filter(({ events }) => events.includes(type) || events.includes('*'));
      const calls = subscribed.flatMap(({ url }) => Array.from({ length: standIn.repeats }, () => url));
      const post = (url: string): Promise<unknown> =>
        fetch(url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ type, data }),
        }).catch(() => {});
      // Like the real server: fire and forget, without retries.
      await Promise.all(calls.map(post));
    },
    async write(contact, fields) {
      const row: ShownMessage = {
        guid: randomUUID(),
        text: null,
        subject: null,
        error: 0,
        isFromMe: false,
        isAutoReply: false,
        itemType: 0,
        handle: { address: contact, service: 'iMessage', country: 'us' },
        chats: [{ guid: `${standIn.chatService ?? 'iMessage'};-;${contact}` }],
        attachments: [],
        dateCreated: Date.now() + standIn.clockAheadMs,
        dateDelivered: null,
        dateRead: null,
        isDelivered: false,
        dateEdited: null,
        dateRetracted: null,
        partCount: 1,
        ...fields,
      };
      rows.push(row);
      await standIn.callWebhooks('new-message', notification(row));
      return row;
    },
    async change(guid, fields) {
      const row = rows.find((known) => known.guid === guid);
      if (!row) throw new Error('there is no such message');
      Object.assign(row, fields);
      await standIn.callWebhooks('updated-message', notification(row));
    },
    async stop() {
      stopping.abort();
      await reports.settled();
      await server.stop();
    },
  };

  const serialized = ({
    guid,
    to,
    service,
    text,
    file,
    moreFiles,
    replyTo,
    effectId,
    error,
    left,
    chat,
    participants,
    createdAt,
  }: SentMessage) => ({
    guid,
    text,
    subject: null,
    error,
    isFromMe: true,
    isAutoReply: false,
    itemType: 0,
    handle: participants.length > 0 ? null : { address: to, service, country: 'us' },
    chats: [{ guid: chat, ...participantsIn(participants) }],
    attachments: [...(file ? [file] : []), ...moreFiles].map(({ name }, index) => ({
      guid: `at_${index}_${guid}`,
      transferName: name,
      mimeType: null,
    })),
    dateCreated: createdAt,
    dateDelivered: left && service !== 'SMS' && error === 0 ? createdAt + 1 : null,
    isDelivered: left && service !== 'SMS' && error === 0,
    dateRead: null,
    dateEdited: null,
    dateRetracted: null,
    partCount: 1,
    threadOriginatorGuid: replyTo,
    expressiveSendStyleId: effectId,
  });

  /** Each of these calls is made once, and its response is ignored. */
  function report(message: SentMessage): void {
    const data = serialized(message);
    const undelivered = { ...notification(data), dateDelivered: null, isDelivered: false };
    const tell = async (): Promise<void> => {
      await standIn.callWebhooks('new-message', undelivered);
      const { tempGuid } = message;
      if (tempGuid !== null) await standIn.callWebhooks('new-message', { ...undelivered, tempGuid });
      const isFailed = message.error !== 0;
      await standIn.callWebhooks(isFailed ? 'message-send-error' : 'updated-message', notification(data));
    };
    reports.add(tell());
  }

  /** The conversation with a GUID. A group is treated as its first participant. */
  function targetOf(chatGuid: string): { to: string; service: string; group: StandInGroup | undefined } {
    const group = groups.find(({ guid }) => guid === chatGuid);
    const { to, service } = partsOf(chatGuid);
    return { to: group?.participants[0] ?? to, service, group };
  }

  /** Messages has one conversation of the same people. */
  function groupWith(participants: string[], service: string): StandInGroup {
    const key = (people: readonly string[]): string => people.toSorted().join();
    const known = groups.find((group) => key(group.participants) === key(participants));
    if (known) return known;
    const group = { guid: `${standIn.chatService ?? service};+;chat${randomUUID()}`, participants };
    groups.push(group);
    return group;
  }

  /** Responds with the fault of a recipient whose message the server does not take. @returns whether it did. */
  function refuse(context: Context, { to, tempGuid, file }: SendRequest): boolean {
    const fault = faults.get(to);
    if (tempGuid !== undefined && inFlight.has(tempGuid)) {
      const text = `Message is already queued to be sent! (Temp GUID: ${tempGuid})`;
      fail(context, 400, 'Validation Error', text);
    } else if (fault?.kind === 'file_refused' && file) {
      fail(context, 400, 'Validation Error', 'The file was refused');
    } else if (fault?.kind === 'refused') {
      fail(context, fault.status, 'Validation Error', 'The message was refused');
    } else if (fault?.kind === 'error_unsent' && fault.times > 0) {
      fault.times -= 1;
      fail(context, 500, 'Server Error', 'Messages did not respond');
    } else return false;
    return true;
  }

  function store({
    to,
    service,
    text,
    file,
    group,
    moreFiles = [],
    tempGuid,
    rich,
  }: SendRequest): SentMessage {
    const fault = faults.get(to);
    const hasCode =
      fault?.kind === 'not_delivered' || fault?.kind === 'error_though_sent' || fault?.kind === 'error_later';
    const message: SentMessage = {
      guid: randomUUID(),
      tempGuid: tempGuid ?? null,
      to,
      service,
      text: text.replaceAll(/\r?\n/g, '\n'),
      file,
      moreFiles,
      replyTo: rich.selectedMessageGuid ?? null,
      effectId: rich.effectId ?? null,
      error: (hasCode ? fault.code : null) ?? 0,
      left:
        fault?.kind !== 'not_delivered' &&
        fault?.kind !== 'error_later' &&
        (service !== 'iMessage' || isReachable(to)),
      chat: group?.guid ?? `${standIn.chatService ?? service};-;${to}`,
      participants: group?.participants ?? [],
      createdAt: Date.now() + standIn.clockAheadMs,
    };
    messages.push(message);
    rows.push(serialized(message));
    strangers.delete(to);
    if (message.left || fault?.kind === 'error_later') report(message);
    return message;
  }

  async function delayResponse({ tempGuid }: SendRequest): Promise<void> {
    if (tempGuid !== undefined) inFlight.add(tempGuid);
    await pause(LATE_MS, undefined, { signal: stopping.signal });
    if (tempGuid !== undefined) inFlight.delete(tempGuid);
  }

  /** @param wrap wraps the message in the response's data. */
  async function send(
    context: Context,
    request: SendRequest,
    wrap: (message: object) => object,
  ): Promise<void> {
    if (refuse(context, request)) return;
    const message = store(request);
    const fault = faults.get(request.to)?.kind;
    if (fault === 'response_lost' || (fault === 'file_response_lost' && request.file)) {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    if (fault === 'response_late') await delayResponse(request);
    const data = fault === 'error_later' ? { ...serialized(message), error: 0 } : serialized(message);
    if (fault === 'error_though_sent' || fault === 'not_delivered') {
      const text = 'Failed to send message! See attached message error code.';
      return fail(context, 500, 'iMessage Error', text, message.error === 0 ? null : data);
    }
    const { tempGuid } = request;
    const sent = { ...data, ...(tempGuid !== undefined && { tempGuid }) };
    context.body = { status: 200, message: 'Message sent!', data: wrap(sent) };
  }

  /** As the server does before it passes a request to its helper. @returns whether it can. */
  function hasPrivateApi(context: Context, message: string): boolean {
    const { private_api: isEnabled, helper_connected: isConnected } = standIn.info;
    if (isEnabled && isConnected) return true;
    const missing = isEnabled
      ? 'iMessage Private API Helper is not connected!'
      : 'iMessage Private API is not enabled!';
    fail(context, 500, 'iMessage Error', missing, undefined, message);
    return false;
  }

  /** @returns whether a request has what AppleScript needs to recognize its message. */
  function hasReference(
    context: Context,
    method: z.infer<typeof Method>,
    tempGuid: string | undefined,
  ): boolean {
    if (method === 'private-api' || tempGuid) return true;
    const text = "A 'tempGuid' is required when sending via AppleScript";
    fail(context, 400, 'Validation Error', text, undefined, BAD_REQUEST);
    return false;
  }

  const routes = new Router({ prefix: '/api/v1' });
  routes.use(async (context, next) => {
    requests.set(context.path, (requests.get(context.path) ?? 0) + 1);
    const { guid, password: given, token } = context.query;
    if ([guid, given, token].includes(password)) return next();
    fail(context, 401, 'Authentication Error', 'Unauthorized');
  });
  routes.get('/ping', (context) => {
    context.body = { status: 200, message: 'Ping received!', data: 'pong' };
  });
  routes.get('/server/info', (context) => {
    const fixed = {
      os_version: '15.1',
      server_version: '1.9.9',
      proxy_service: 'dynamic-dns',
      // Seconds to be added to the Mac's clock.
      macos_time_sync: standIn.knowsTime ? -standIn.clockAheadMs / 1000 : null,
    };
    context.body = {
      status: 200,
      message: 'Successfully fetched metadata!',
      data: { ...fixed, ...standIn.info },
    };
  });
  routes.get('/handle/availability/imessage', (context) => {
    if (!standIn.knowsReach && !hasPrivateApi(context, PRIVATE_API_MISSING)) return;
    const { address } = z.object({ address: z.string().min(1) }).parse(context.query);
    const left = denials.get(address) ?? 0;
    denials.set(address, left - 1);
    context.body = {
      status: 200,
      message: 'Success',
      data: { available: left <= 0 && isReachable(address) },
    };
  });
  routes.post('/message/text', async (context) => {
    const { chatGuid, message, tempGuid, method: asked, ...rich } = TextRequest.parse(context.request.body);
    const method = methodOf(asked, rich);
    if (!hasReference(context, method, tempGuid)) return;
    if (method === 'private-api' && !hasPrivateApi(context, 'Message Send Error')) return;
    const { to, service, group } = targetOf(chatGuid);
    if (strangers.has(to) || (chatGuid.includes(';+;') && !group))
      return fail(context, 500, 'iMessage Error', `Chat with GUID ${chatGuid} does not exist!`);
    await send(context, { to, service, group, text: message, tempGuid, file: null, rich }, (data) => data);
  });
  routes.post('/chat/new', async (context) => {
    const { addresses, message, service, tempGuid, method, ...rich } = NewChat.parse(context.request.body);
    if (method === 'private-api' && !hasPrivateApi(context, 'Failed to create chat!')) return;
    if (!message) return fail(context, 500, 'iMessage Error', 'A message is required when creating chats!');
    if (method === 'apple-script' && addresses.length > 1)
      return fail(
        context,
        500,
        'iMessage Error',
        'Cannot create group chats on macOS Big Sur or newer!',
        undefined,
        'Failed to create chat!',
      );
    const to = addresses[0] ?? '';
    const group = addresses.length > 1 ? groupWith(addresses, service) : undefined;
    const opened = (data: object): object => ({
      guid: group?.guid ?? `${service};-;${to}`,
      participants: addresses.map((address) => ({ address })),
      messages: [data],
    });
    await send(context, { to, service, group, text: message, tempGuid, file: null, rich }, opened);
  });
  routes.post('/message/attachment', async (context) => {
    const fields = z
      .object({
        chatGuid: z.string(),
        tempGuid: z.string().optional(),
        method: Method,
        name: z.string(),
        isAudioMessage: z.string().optional(),
        ...RichFields.shape,
      })
      .parse(context.request.body);
    const method = methodOf(fields.method, fields);
    if (!hasReference(context, method, fields.tempGuid)) return;
    const upload = [context.request.files?.['attachment'] ?? []].flat()[0];
    if (!upload || upload.size === 0)
      return fail(
        context,
        400,
        'Validation Error',
        'Attachment not provided or was empty!',
        undefined,
        BAD_REQUEST,
      );
    const content = await readFile(upload.filepath, 'utf8');
    const file = { name: fields.name, content, isAudioMessage: fields.isAudioMessage === 'true' };
    const { to, service, group } = targetOf(fields.chatGuid);
    if (method === 'private-api') {
      if (!hasPrivateApi(context, 'Attachment Send Error')) return;
      // The helper opens no conversations; AppleScript does.
      if (strangers.has(to))
        return fail(
          context,
          500,
          'iMessage Error',
          'Chat does not exist!',
          undefined,
          'Attachment Send Error',
        );
    }
    const { tempGuid } = fields;
    await send(context, { to, service, group, text: '', tempGuid, file, rich: fields }, (data) => data);
  });
  const uploads = new Map<string, string>();
  routes.post('/attachment/upload', async (context) => {
    const upload = [context.request.files?.['attachment'] ?? []].flat()[0];
    if (!upload || upload.size === 0) {
      const text = 'Attachment not provided or was empty!';
      return fail(context, 400, 'Validation Error', text, undefined, BAD_REQUEST);
    }
    const path = `${randomUUID()}/${upload.originalFilename ?? 'file'}`;
    uploads.set(path, await readFile(upload.filepath, 'utf8'));
    context.body = { status: 200, message: 'Success', data: { path } };
  });
  const Part = z
    .object({
      partIndex: z.number(),
      text: z.string().optional(),
      attachment: z.string().optional(),
      name: z.string().optional(),
    })
    .refine(({ text, attachment }) => text || attachment, 'Each part must have either a text or attachment')
    .refine(({ attachment, name }) => !attachment || name, 'Each attachment must have a name')
    .refine(({ attachment }) => !attachment || uploads.has(attachment), 'Attachment does not exist');
  routes.post('/message/multipart', async (context) => {
    const { chatGuid, tempGuid, parts, ...rich } = z
      .object({
        chatGuid: z.string(),
        tempGuid: z.string().optional(),
        parts: z.array(Part),
        ...RichFields.shape,
      })
      .parse(context.request.body);
    if (!hasPrivateApi(context, 'Message Send Error')) return;
    const { to, service, group } = targetOf(chatGuid);
    if (strangers.has(to)) return fail(context, 500, 'iMessage Error', 'Chat does not exist!');
    const texts = parts.flatMap(({ text }) => text ?? []);
    const files = parts.flatMap(({ attachment = '', name = '' }) =>
      attachment === '' ? [] : [{ name, content: uploads.get(attachment) ?? '', isAudioMessage: false }],
    );
    const [file = null, ...moreFiles] = files;
    const text = texts.join('\n');
    await send(context, { to, service, group, text, tempGuid, file, moreFiles, rich }, (data) => data);
  });
  const ReactRequest = z.object({
    chatGuid: z.string().min(1),
    selectedMessageGuid: z.string().min(1),
    reaction: z.enum(REACTIONS.flatMap((name) => [name, `-${name}`])),
    partIndex: z.number().min(0).default(0),
  });
  const EditRequest = z.object({
    editedMessage: z.string().min(1),
    backwardsCompatibilityMessage: z.string().min(1),
    partIndex: z.number().min(0).default(0),
  });
  /** Responds to an action as the server does, and reports it like one of another device. */
  async function act(
    context: Context,
    { route, guid, body }: Omit<Done, 'at'>,
    change: (row: ShownMessage) => Promise<unknown>,
  ): Promise<void> {
    const row = rows.find((known) => known.guid === guid);
    if (!row)
      return fail(
        context,
        400,
        'Validation Error',
        'Selected message does not exist!',
        undefined,
        BAD_REQUEST,
      );
    if (!hasPrivateApi(context, 'Message Send Error')) return;
    const fault = faults.get((row['handle'] as { address: string } | null)?.address ?? '')?.kind;
    done.push({ route, guid, at: Date.now(), body });
    await change(row);
    if (fault === 'response_lost') {
      context.respond = false;
      context.req.socket.destroy();
      return;
    }
    context.body = { status: 200, message: 'Success', data: row };
  }
  routes.post('/message/react', async (context) => {
    const body = ReactRequest.parse(context.request.body);
    const { to, group } = targetOf(body.chatGuid);
    await act(context, { route: 'react', guid: body.selectedMessageGuid, body }, () =>
      standIn.write(to, {
        ...(group && { chats: [{ guid: group.guid, ...participantsIn(group.participants) }] }),
        isFromMe: true,
        text: 'Reacted',
        associatedMessageGuid: `p:0/${body.selectedMessageGuid}`,
        associatedMessageType: body.reaction,
      }),
    );
  });
  routes.post('/message/:guid/edit', async (context) => {
    const body = EditRequest.parse(context.request.body);
    const guid = context.params['guid'] ?? '';
    await act(context, { route: 'edit', guid, body }, () =>
      standIn.change(guid, { text: body.editedMessage, dateEdited: Date.now() }),
    );
  });
  routes.post('/message/:guid/unsend', async (context) => {
    const body = z.object({ partIndex: z.number().min(0).default(0) }).parse(context.request.body);
    const guid = context.params['guid'] ?? '';
    await act(context, { route: 'unsend', guid, body }, () =>
      standIn.change(guid, { text: null, partCount: 0, dateRetracted: Date.now() }),
    );
  });
  /** As the server does: it passes what it is asked to its helper, and knows nothing of the result. */
  const actInChat =
    (route: Done['route']) =>
    (context: Context): void => {
      if (!hasPrivateApi(context, 'Failed!')) return;
      done.push({ route, guid: context.params['guid'] ?? '', at: Date.now(), body: {} });
      context.body = { status: 200, message: 'Success' };
    };
  routes.post('/chat/:guid/typing', actInChat('typing'));
  routes.delete('/chat/:guid/typing', actInChat('stop typing'));
  routes.post('/chat/:guid/read', actInChat('read'));
  routes.post('/chat/:guid/share/contact', actInChat('share contact'));
  routes.get('/icloud/contact', (context) => {
    if (!hasPrivateApi(context, 'Failed to fetch contact card!')) return;
    const message = 'Successfully fetched contact card!';
    context.body = { status: 200, message, data: { name: standIn.accountName, avatar: null } };
  });
  routes.post('/message/query', (context) => {
    const query = z
      .object({
        with: z.array(z.string()).default([]),
        after: z.number().min(0).default(0),
        before: z.number().min(1).default(Infinity),
        limit: z.number().min(1).max(1000).default(100),
        offset: z.number().min(0).default(0),
        sort: z.enum(['ASC', 'DESC']).default('DESC'),
      })
      .parse(context.request.body);
    const parts = query.with.map((part) => part.toLowerCase());
    const found = rows
      .filter(({ dateCreated }) => dateCreated >= query.after && dateCreated <= query.before)
      .toSorted((a, b) => (query.sort === 'ASC' ? 1 : -1) * (a.dateCreated - b.dateCreated));
    const page = found.slice(query.offset, query.offset + query.limit);
    const data = page.map(({ chats, attachments, ...row }) => ({
      ...row,
      chats: chatsWith(chats, parts),
      attachments: parts.includes('attachment') ? attachments : [],
    }));
    const { offset, limit } = query;
    const metadata = { offset, limit, total: found.length, count: data.length };
    context.body = { status: 200, message: 'Successfully fetched messages!', data, metadata };
  });
  routes.get('/message/:guid', (context) => {
    const row = rows.find(({ guid }) => guid === context.params['guid']);
    if (!row) return fail(context, 404, 'Database Error', 'Message does not exist!', undefined, NOT_FOUND);
    const parts = z
      .string()
      .default('')
      .parse(context.query['with'])
      .split(',')
      .map((part) => part.trim());
    const { chats, attachments: _attachments, ...data } = row;
    context.body = {
      status: 200,
      message: 'Success',
      data: { ...data, chats: chatsWith(chats, parts), attachments: [] },
    };
  });
  routes.get('/webhook', (context) => {
    context.body = { status: 200, message: 'Success', data: webhooks };
  });
  routes.post('/webhook', (context) => {
    const { url, events } = z
      .object({ url: z.string().startsWith('http'), events: z.array(z.enum(WEBHOOK_EVENTS)) })
      .parse(context.request.body);
    // One that it has keeps its events, whatever is asked for.
    if (!webhooks.some((webhook) => webhook.url === url))
      webhooks.push({ id: (webhookIds += 1), url, events });
    const data = webhooks.find((webhook) => webhook.url === url);
    context.body = { status: 200, message: 'Successfully created webhook!', data };
  });
  routes.delete('/webhook/:id', (context) => {
    const index = webhooks.findIndex(({ id }) => id === Number(context.params['id']));
    if (index === -1)
      return fail(context, 404, 'Database Error', 'Webhook does not exist!', undefined, NOT_FOUND);
    webhooks.splice(index, 1);
    context.body = { status: 200, message: 'Successfully deleted webhook!' };
  });
  routes.get('/attachment/:guid/download', async (context) => {
    await standIn.heldFiles;
    context.type = 'image/png';
    context.body = `the file ${context.params['guid']}`;
  });

  const app = new Koa();
  app.use(
    refuseInvalid((context, error) => {
      const [{ message } = error] = error.issues;
      fail(context, 400, 'Validation Error', message, undefined, BAD_REQUEST);
    }, stopping.signal),
  );
  app.use(koaBody({ multipart: true, formidable: { allowEmptyFiles: true, minFileSize: 0 } }));
  app.use(routes.routes());
  const server = await serve(app);
  standIn.url = server.url;
  return standIn;
}

/** Only the Private API answers messages and knows effects. */
const methodOf = (
  asked: z.infer<typeof Method>,
  { selectedMessageGuid, effectId }: z.infer<typeof RichFields>,
): z.infer<typeof Method> => (selectedMessageGuid || effectId ? 'private-api' : asked);

const participantsIn = (participants: readonly string[]) =>
  participants.length > 0 && { participants: participants.map((address) => ({ address })) };

function partsOf(chatGuid: string): { to: string; service: string } {
  const [service = '', , to = ''] = chatGuid.split(';');
  return { to, service };
}

/** The conversations of a message with what a request asks for. The names may be in the plural. */
function chatsWith(chats: unknown, asked: readonly string[]): object[] {
  const parts = new Set(asked.map((part) => part.replaceAll('chats', 'chat').replace(/s$/, '')));
  if (!parts.has('chat')) return [];
  return (chats as { guid: string; participants?: object[] }[]).map(({ participants, ...chat }) => ({
    ...chat,
    ...(parts.has('chat.participant') && participants && { participants }),
  }));
}

/** A message in a webhook call, which leaves out what the server's responses contain besides. */
function notification({ isAutoReply: _isAutoReply, attachments, chats, ...row }: ShownMessage): ShownMessage {
  const files = (attachments as { guid: string; mimeType?: string; transferName?: string }[]).map(
    ({ guid, mimeType, transferName }) => ({ guid, mimeType, transferName }),
  );
  return { ...row, chats: chatsWith(chats, ['chats']), attachments: files };
}

function fail(
  context: Context,
  status: number,
  type: string,
  text: string,
  data?: object | null,
  message = 'Message Send Error',
): void {
  context.status = status;
  context.body = {
    status,
    message,
    error: { type, message: text },
    ...(data !== undefined && { data }),
  };
}
