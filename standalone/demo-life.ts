import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Demo } from './demo-data.ts';
import { LIVELY_DAYS } from './lively-demo.ts';
import { people, type Person, REPLIES, TEXTS } from './demo-texts.ts';
import { type LivelyDemo, readLively, writeLively } from './lively-file.ts';

/**
 * Plays a month of a letting agency in its workspace in test mode, through the API, by the clock of test mode, which starts a month
 * ago and ends now. It empties the workspace first, and with `--fresh` does nothing while the month is being played.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** While it plays, lines wait only for their daily caps: each gap would be a step of the clock. */
const PLAYING = { minGapSeconds: 0, contactGapSeconds: 0, hourlyNewConversationsLimit: 50 };
const AFTERWARDS = { minGapSeconds: 20, contactGapSeconds: 60, hourlyNewConversationsLimit: null };
/** Somebody who writes without having been written to. */
const NEIGHBOUR = '+16285550199';
/** Requests at the same time. */
const AT_ONCE = 6;

// oxlint-disable-next-line no-explicit-any
type Json = any;
type Api = (method: string, path: string, body?: unknown) => Promise<Json>;

interface Sent {
  messageId: string;
  lineId: string;
  channel: string;
  to: string;
}

const dataDir = process.env['DATA_DIR'] ?? '.data';
const { baseUrl: url } = JSON.parse(readFileSync(path.join(dataDir, 'demo.json'), 'utf8')) as Demo;

function client({ sessionToken, testWorkspaceId }: LivelyDemo): Api {
  const call: Api = async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${sessionToken}`,
        'x-workspace-id': testWorkspaceId,
        ...(body !== undefined && !(body instanceof FormData) && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new Error(`${method} ${path}: the API does not answer`, { cause });
    });
    if (response.status === 429 || response.status === 503) {
      await pause(1000 * Number(response.headers.get('retry-after') ?? 1));
      return call(method, path, body);
    }
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? null : JSON.parse(text);
  };
  return call;
}

/** Runs the work for each item, a few at a time. */
async function each<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const left = items.entries();
  const next = async (): Promise<void> => {
    for (const [index, item] of left) await work(item, index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
}

const conversation = (address: string): string => `/api/conversations/${encodeURIComponent(address)}`;

async function play(lively: LivelyDemo): Promise<void> {
  const api = client(lively);
  const { now } = await api('GET', '/api/test/clock');
  const start = Date.parse(now);
  const end = start + LIVELY_DAYS * DAY_MS;
  const everybody = people();
  const take = (count: number): Person[] => everybody.splice(0, count);

  /** On a slow machine, the clock may have gone on to there by itself. */
  async function moveTo(at: number): Promise<void> {
    if (Date.parse((await api('GET', '/api/test/clock')).now) >= at) return;
    const clock = await api('POST', '/api/test/clock', { to: new Date(at).toISOString() });
    if (clock.movingTo === null) return;
    for (;;) {
      const { movingTo, problem } = await api('GET', '/api/test/clock');
      if (problem !== null) throw new Error(problem);
      if (movingTo === null) return;
      await pause(200);
    }
  }

  await api('PATCH', '/api/workspace', { setupDismissed: true });
  // The team's lines.
  const lines = (await api('GET', '/api/lines/by-user')).lines as Json[];
  const lineOf = (channel: string): string =>
    lines.find((line: Json) => line.requestedChannelType === channel)._id as string;
  const maya = lineOf('imessage');
  const noah = (
    await api('POST', '/api/test/lines', { channelType: 'imessage', firstName: 'Noah', lastName: 'Kim' })
  ).line._id as string;
  const [desk, mail] = [lineOf('sms'), lineOf('email')];
  const names = { [maya]: ['Maya', 'Brooks'], [desk]: ['Front', 'Desk'], [mail]: ['Harbour', 'Homes'] };
  for (const [id, [firstName, lastName]] of Object.entries(names))
    await api('PATCH', `/api/lines/${id}`, { firstName, lastName, ...PLAYING });
  await api('PATCH', `/api/lines/${noah}`, PLAYING);
  for (const id of [maya, noah]) await api('PATCH', `/api/lines/${id}`, { dailyNewConversationsLimit: 20 });
  for (const [name, text] of TEXTS.snippets) await api('POST', '/api/snippets', { name, text });

  const listOf = async (name: string): Promise<string> =>
    (await api('POST', '/api/lists', { name })).list._id as string;
  /** Started with an empty list: leads enter day by day, as they would come from a website. */
  const campaign = async (name: string, steps: unknown): Promise<string> =>
    (
      await api('POST', '/api/campaigns', {
        name,
        listId: await listOf(name),
        steps,
        eligibleLineIds: [maya, noah],
        stickinessPolicy: 'round_robin',
        start: true,
      })
    ).campaign._id as string;
  const enter = (campaignId: string, count: number): Promise<void> =>
    each(take(count), (lead) => api('POST', `/api/campaigns/${campaignId}/leads`, { lead }));

  /** What was sent since the last call, newest first. */
  let seen = new Set<string>();
  const sentSince = async (): Promise<Sent[]> => {
    const { sent } = await api('GET', '/api/test/sent?limit=200');
    const fresh = (sent as Sent[]).filter(({ messageId }) => !seen.has(messageId));
    seen = new Set([...seen, ...fresh.map(({ messageId }) => messageId)]);
    return fresh;
  };
  const answered = new Set<string>();
  const handled: string[] = [];
  let turn = 0;
  let turnOfNoah = 0;
  let lastOfNoah = '';
  /** Every third; of those whom Noah's line writes to every tenth, and in the last days one, so that the line ends on `watch`. */
  function answers({ to, lineId }: Sent, left: number): boolean {
    if (answered.has(to)) return false;
    if (lineId !== noah) return (turn += 1) % 3 === 0;
    if (left > 9) return (turnOfNoah += 1) % 10 === 0;
    if (left !== 5 || lastOfNoah !== '') return false;
    lastOfNoah = to;
    return true;
  }
  const says = async (from: string, text: string, lineId?: string): Promise<void> =>
    void (await api('POST', '/api/test/inbound', { from, text, ...(lineId !== undefined && { lineId }) }));

  /** Receipts, and the replies of some. @param left how many days are left. */
  async function hearBack(sent: readonly Sent[], left: number): Promise<void> {
    const onPhones = sent.filter(({ channel }) => channel !== 'email');
    await each(onPhones, async ({ messageId }, index) => {
      if (left < 8 || index % 2 === 0)
        await api('POST', '/api/test/receipts', {
          messageId,
          status: index % 3 === 0 ? 'read' : 'delivered',
        });
    });
    for (const message of sent) {
      if (!answers(message, left)) continue;
      const { to, lineId } = message;
      answered.add(to);
      const reply = REPLIES[answered.size % REPLIES.length];
      if (!reply) continue;
      await says(to, reply.text, lineId);
      if (reply.tags) await api('POST', `${conversation(to)}/tags`, { tags: reply.tags });
      handled.push(to);
    }
  }

  /** The team has read and closed what is not of today. */
  async function tidyUp(): Promise<void> {
    await each(handled.splice(0), async (address) => {
      await api('POST', `${conversation(address)}/read`, {});
      await api('PATCH', conversation(address), { status: 'closed' });
    });
  }

  const webhook = async (path: string, name: string, events: readonly string[]): Promise<string> =>
    (await api('POST', '/api/webhooks', { url: `${url}/simulated/webhooks/${path}`, name, events })).webhook
      ._id as string;
  let crm = '';

  let waitingList = '';
  let winter = '';
  for (let day = 0; day < LIVELY_DAYS; day += 1) {
    const left = LIVELY_DAYS - day;
    if (day > 0) await moveTo(start + day * DAY_MS - 3 * HOUR_MS);
    await hearBack(await sentSince(), left);
    await tidyUp();
    if (day === 0) waitingList = await campaign('Waiting list', TEXTS.waitingList);
    if (day < 22) await enter(waitingList, 4 + (day % 3));
    if (left === 7) winter = await campaign('Winter move-in', TEXTS.winter);
    if (left <= 7) await enter(winter, 14);
    if (left === 5) crm = await webhook('crm', 'CRM', ['message.reply', 'message.failed']);
    if (left === 4) await repair(day);
    await inquiries(day);
  }

  /** The program that receives the webhook is down for one reply. */
  async function repair(day: number): Promise<void> {
    const at = start + day * DAY_MS - 2 * HOUR_MS;
    const receiver = (query: string) =>
      api('PATCH', `/api/webhooks/${crm}`, { url: `${url}/simulated/webhooks/crm${query}` });
    // Until earlier replies are delivered.
    await moveTo(at);
    await receiver('?status=503');
    await says(NEIGHBOUR, TEXTS.lateQuestion, maya);
    handled.push(NEIGHBOUR);
    await moveTo(at + HOUR_MS);
    await receiver('');
  }

  /** People who asked on the website: an answer to each, by SMS or email. */
  async function inquiries(day: number): Promise<void> {
    const isWeekend = [0, 6].includes(new Date(start + day * DAY_MS).getUTCDay());
    const asked = take(isWeekend ? 2 : 4 + (day % 3));
    await each(asked, async ({ phone, email, firstName, lastName }, index) => {
      const byMail = {
        recipientEmail: email,
        messageType: 'email',
        subject: 'Your inquiry',
        fromLineId: mail,
      };
      const bySms = { recipientPhone: phone, messageType: 'sms', fromLineId: desk };
      const byNoah = { recipientPhone: phone, fromLineId: noah };
      await api('POST', '/api/drip', {
        message: index === 0 ? TEXTS.inquiryByMail : TEXTS.inquiry,
        recipientName: `${firstName} ${lastName}`,
        ...(index === 0 ? byMail : index % 2 === 0 ? bySms : byNoah),
      });
    });
  }

  await today();
  // Not to the end: playing took a while.
  await moveTo(Date.now());
  for (const { _id } of (await api('GET', '/api/lines/by-user')).lines as Json[])
    await api('PATCH', `/api/lines/${_id}`, AFTERWARDS);

  /** What waits for the team when the console is opened. */
  async function today(): Promise<void> {
    await moveTo(end - 5 * HOUR_MS);
    await enter(winter, 14);
    await inquiries(LIVELY_DAYS);
    await api('PATCH', `/api/lines/${maya}`, { dailyNewConversationsLimit: 40 });
    const [priya, tom, aiko, luis, hannah, omar, grace, ben, chloe, ivan] = everybody.splice(0, 10) as [
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
      Person,
    ];
    const team = [priya, tom, aiko, luis, hannah, omar, grace, ben, chloe, ivan];
    await api('POST', '/api/leads', { listId: await listOf('Viewings'), leads: team });
    for (const { phone } of team)
      await api('POST', '/api/messages', { recipientPhone: phone, message: TEXTS.viewing, fromLineId: maya });
    await moveTo(end - 4 * HOUR_MS);
    await sentSince();
    const replies: [Person, string, number][] = [
      [priya, 'Is the flat on Harbour Street still free?', 160],
      [tom, 'Thanks, we took another one.', 150],
      [aiko, 'Could we come by on Saturday at 10? There would be three of us.', 140],
      [ben, 'STOP', 120],
      [grace, 'Please take me off your list, I already found something', 100],
      [omar, 'I am travelling, ask me again next week', 90],
      [luis, 'What is the deposit?', 70],
      [chloe, 'Can you send me the floor plan?', 55],
      [ivan, 'Is parking included?', 30],
      [hannah, 'Are dogs allowed? Ours is small and very quiet.', 12],
    ];
    for (const [{ phone }, text, minutes] of replies) {
      await moveTo(end - minutes * 60_000);
      await says(phone, text, maya);
      if (phone === aiko.phone) {
        await api('POST', '/api/inbox/send-reply', { phone, message: TEXTS.saturday });
        await moveTo(end - (minutes - 5) * 60_000);
        await says(phone, `Loved “${TEXTS.saturday}”`, maya);
        await api('POST', `${conversation(phone)}/read`, {});
        await api('POST', `${conversation(phone)}/tags`, { tags: ['interested', 'viewing'] });
      }
      if (phone === chloe.phone) {
        const attachmentUrls = [await upload()];
        await api('POST', '/api/inbox/send-reply', { phone, message: 'Here it is.', attachmentUrls });
        await api('POST', `${conversation(phone)}/read`, {});
      }
    }
    await api('PATCH', conversation(priya.phone), { assigneeId: lively.ownerId });
    await api('POST', `${conversation(priya.phone)}/tags`, { tags: ['interested'] });
    await api('PATCH', conversation(ivan.phone), { assigneeId: lively.colleagueId });
    await api('POST', `${conversation(ivan.phone)}/notes`, { text: TEXTS.note });
    const nextWeek = new Date(end + 6 * DAY_MS).toISOString();
    await api('PATCH', conversation(omar.phone), { status: 'snoozed', snoozedUntil: nextWeek });
    await api('PATCH', conversation(tom.phone), { status: 'closed' });
    for (const [{ phone }, message] of [
      [priya, TEXTS.drafts.free],
      [luis, TEXTS.drafts.deposit],
      [hannah, TEXTS.drafts.dogs],
    ] as const)
      await api('POST', '/api/knowledge-base/drafts', { phone, message });
    await api('PUT', '/api/knowledge-base', TEXTS.knowledgeBase);
    const tomorrow = new Date(end + 20 * HOUR_MS).toISOString();
    await api('POST', '/api/messages', {
      message: 'See you on Saturday at 10!',
      recipientPhone: aiko.phone,
      scheduledDate: tomorrow,
    });
    // In test mode, this number is refused.
    await api('POST', '/api/messages', {
      message: TEXTS.viewing,
      recipientPhone: '+14155550002',
      fromLineId: maya,
    });
  }

  async function upload(): Promise<string> {
    const form = new FormData();
    form.append('file', new Blob([TEXTS.floorPlan], { type: 'application/pdf' }), 'Floor plan.pdf');
    return (await api('POST', '/api/attachments/upload', form)).url as string;
  }
}

async function main(): Promise<void> {
  const lively = await readLively(dataDir);
  if (lively === null) throw new Error('Start it with npm start first: the lively demo does not exist yet');
  if (process.argv.includes('--fresh') && !lively.complete)
    throw new Error('The month is being played. If it was interrupted, the next npm start makes it anew');
  await writeLively(dataDir, { ...lively, complete: false });
  const startsAt = new Date(Date.now() - LIVELY_DAYS * DAY_MS).toISOString();
  await client(lively)('POST', '/api/test/reset', { startsAt });
  await play(lively);
  await writeLively(dataDir, { ...lively, complete: true });
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
