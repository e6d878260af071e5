import fc from 'fast-check';
import { sql } from 'slonik';
import { beforeAll, expect, test } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { countSome } from '#db/commands/analytics/count-days.ts';
import { systemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';

/**
 * Compares every metric with an independent count without SQL, over arbitrary workspaces: all statuses, fallbacks,
 * opt-outs, automatic replies, changed tags, a line from another workspace, bounds at the exact instant of a message,
 * days of 23, 24, 23½ and 25 hours; an erased contact; a line that moves to another workspace; metrics that are counted by the
 * day and by the hour never, before, after or in the middle of all that.
 */
let app: TestApp;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

const two = (): [string, string] => [newId(), newId()];
const [LINES, CAMPAIGNS] = [two(), two()];
const USERS = ['user_0123456789abcdef01234567', 'user_76543210fedcba9876543210'];
const PHONES = ['+14155550001', '+14155550002', '+14155550003', '+14155550004'];
const ERASED = '+14155550004';
const TAGS = [
  'interested',
  'Interested',
  'TO RESPOND',
  'to-answer',
  'to_answer',
  'interested, later',
  'cold',
];
const POSITIVE = ['interested', 'to respond', 'to-answer', 'to_answer'];
const STATUSES = 'pending scheduled sending sent delivered delivered sent fallback failed canceled'.split(
  ' ',
);
// Clocks go forward on 8 March 2026 in New York, and back by half an hour on 5 April on Lord Howe.
const DAYS: Record<string, readonly string[]> = {
  'America/New_York': ['2026-03-07', '2026-03-08', '2026-03-09'],
  'Australia/Lord_Howe': ['2026-04-04', '2026-04-05', '2026-04-06'],
  'Asia/Kolkata': ['2026-03-07', '2026-03-08', '2026-03-09'],
  // PostgreSQL knows both by an offset that is the same all year, or not at all.
  CET: ['2026-03-28', '2026-03-29', '2026-03-30'],
  NZ: ['2026-04-04', '2026-04-05', '2026-04-06'],
};

/** Messages so much later make ranges long enough to be read from the days between their ends. */
const LATER_MS = 45 * 86_400_000;

interface Outbound {
  id: string;
  phone: string;
  at: number;
  status: string;
  fallbackSms: string | null;
  /** It gets its status when others have been counted. */
  isLate: boolean;
  lineId: string;
  campaignId: string | null;
  userId: string | null;
}
interface Inbound extends Pick<Outbound, 'phone' | 'at' | 'lineId' | 'campaignId'> {
  auto: boolean;
  answers: string | null;
}
interface Filter {
  lineId?: string;
  campaignId?: string;
  userId?: string;
  dateFrom?: string;
  dateTo?: string;
}

const world = fc.constantFrom(...Object.keys(DAYS)).chain((zone) => {
  const days = DAYS[zone] ?? [];
  const begin = Date.parse(`${days[0]}T00:00:00Z`) - 86_400_000 / 2;
  const at = fc
    .tuple(fc.integer({ min: 0, max: 4 * 48 }), fc.constantFrom(0, 0, 0, LATER_MS))
    .map(([half, later]) => begin + half * 1_800_000 + later);
  const about = {
    phone: fc.constantFrom(...PHONES),
    at,
    lineId: fc.constantFrom(...LINES),
    campaignId: fc.constantFrom(null, ...CAMPAIGNS),
  };
  const outbound = fc.record({
    ...about,
    id: fc.constant(null).map(() => newId()),
    status: fc.constantFrom(...STATUSES),
    fallbackSms: fc.constantFrom(null, null, null, 'due', 'dispatched', 'failed'),
    userId: fc.constantFrom(null, ...USERS),
    isLate: fc.boolean(),
  });
  const bound = fc.option(
    fc.oneof(
      fc.constantFrom(...days),
      at.map((ms) => new Date(ms).toISOString()),
    ),
    {
      nil: undefined,
    },
  );
  return fc.record({
    zone: fc.constant(zone),
    counted: fc.subarray(['before', 'between', 'after']),
    sent: fc.array(outbound, { maxLength: 40 }),
    replies: fc.array(
      fc.record({ ...about, auto: fc.nat(4).map((n) => n === 0), answers: fc.option(fc.nat(39)) }),
      { maxLength: 25 },
    ),
    tags: fc.array(fc.subarray(TAGS, { maxLength: 3 }), { minLength: 4, maxLength: 4 }),
    retagged: fc.subarray(TAGS, { maxLength: 2 }),
    erases: fc.boolean(),
    lineMoves: fc.boolean(),
    filters: fc.array(
      fc.record({
        lineId: fc.option(fc.constantFrom(...LINES), { nil: undefined }),
        campaignId: fc.option(fc.constantFrom(...CAMPAIGNS), { nil: undefined }),
        userId: fc.option(fc.constantFrom(...USERS), { nil: undefined }),
        dateFrom: bound,
        dateTo: bound,
      }),
      { minLength: 4, maxLength: 4 },
    ),
  });
});

test('every metric equals an independent count over the same messages', async () => {
  await fc.assert(
    fc.asyncProperty(
      world,
      async ({ zone, counted, sent, replies, tags, retagged, erases, lineMoves, filters }) => {
        const { id, key } = await createWorkspace(app, { timezone: zone });
        const stranger = await createWorkspace(app);
        // No two workspaces have the same line.
        await systemDb(app.pools).query(
          sql.type(NoRows)`delete from lines where id = any(${sql.array(LINES, 'text')})`,
        );
        await systemDb(app.pools).query(
          sql.type(NoRows)`delete from lookups where key = any(${sql.array(LINES, 'text')})`,
        );
        for (const lineId of LINES) await createLine(app, id, 'imessage', { id: lineId });
        for (const campaignId of CAMPAIGNS)
          await insertRow(app, 'campaigns', {
            workspace_id: id,
            id: campaignId,
            name: 'Spring',
            steps: '[]',
          });
        const inbound = replies.map(({ answers, ...reply }) => ({
          ...reply,
          answers: sent[answers ?? -1]?.id ?? null,
        }));
        const countIf = async (when: string): Promise<void> => {
          if (!counted.includes(when)) return;
          while (await withTenant(app.pools, id, countSome));
        };
        await countIf('before');
        const half = Math.floor(inbound.length / 2);
        await store(id, sent, inbound.slice(0, half));
        for (const [index, phone] of PHONES.entries())
          await insertRow(app, 'conversations', {
            workspace_id: id,
            address: phone,
            tags: tags[index] ?? [],
          });
        await countIf('between');
        await store(id, [], inbound.slice(half), half);
        await finish(id, sent);
        await store(stranger.id, sent, inbound);
        await finish(stranger.id, sent);
        const api = apiClient(app.url, key);
        for (const phone of PHONES.slice(0, 2))
          await api('POST', `/api/conversations/${encodeURIComponent(phone)}/tags`, { tags: retagged });
        const tagsOf = new Map(PHONES.map((phone, index) => [phone, index < 2 ? retagged : tags[index]]));
        const positive = (phone: string): boolean =>
          (tagsOf.get(phone) ?? []).some((tag) => POSITIVE.includes(tag.toLowerCase()));

        if (erases) await rename(id, ERASED, 'erased:1');
        if (lineMoves)
          await systemDb(app.pools).query(
            sql.type(NoRows)`update lines set workspace_id = ${stranger.id} where id = ${LINES[1]}`,
          );
        await countIf('after');
        const days = DAYS[zone] ?? [];
        for (const filter of [{}, ...ofDays(days), ...filters].map(given)) {
          const query = new URLSearchParams({ ...filter }).toString();
          const { body } = await api('GET', `/api/analytics?${query}`);
          expect(body.metrics, query).toEqual(metrics(sent, inbound, filter, zone, positive));
        }
        const { body } = await api(
          'GET',
          `/api/analytics/timeseries?dateFrom=${days[0]}&dateTo=${days.at(-1)}`,
        );
        expect(
          body.series.map(({ start: _start, end: _end, ...counts }: Record<string, unknown>) => counts),
        ).toEqual(days.map((day) => metrics(sent, inbound, { dateFrom: day, dateTo: day }, zone, positive)));
        for (const query of [
          `dateFrom=${days[0]}&dateTo=${days.at(-1)}`,
          `dateFrom=${days[0]}T10:20:00Z&dateTo=${days.at(-1)}T03:45:30Z&tz=Asia/Kolkata`,
          `dateFrom=${days[1]}&dateTo=${days[1]}&tz=UTC`,
          `dateFrom=${days[0]}&dateTo=${days.at(-1)}&lineId=${LINES[0]}`,
        ]) {
          const { body: hourly } = await api('GET', `/api/analytics/timeseries?interval=hour&${query}`);
          const { dateFrom, dateTo, lineId } = hourly.filter;
          for (const { start, end, ...counts } of hourly.series) {
            const hour = {
              dateFrom: start > dateFrom ? start : dateFrom,
              dateTo: end > dateTo ? dateTo : new Date(Date.parse(end) - 1).toISOString(),
              lineId,
            };
            expect(counts, `${query} ${start}`).toEqual(metrics(sent, inbound, hour, zone, positive));
          }
        }
        for (const day of days) {
          const listed = (await api('GET', `/api/analytics/conversations?date=${day}`)).body.conversations;
          expect(
            listed
              .map(({ phone, sent: out, replied }: Record<string, unknown>) => [phone, out, replied])
              .toSorted(),
          ).toEqual(conversations(sent, inbound, day, zone).filter(([phone]) => !erases || phone !== ERASED));
        }
      },
    ),
    { numRuns: 20 },
  );
});

/** Filters that days can answer, or help to. */
const ofDays = ([first, second, third]: readonly string[]): object[] => [
  { dateFrom: second },
  { dateTo: second },
  { dateFrom: second, dateTo: second },
  { dateFrom: first, dateTo: second, lineId: LINES[0] },
  { dateFrom: second, campaignId: CAMPAIGNS[1] },
  { dateFrom: second, userId: USERS[0] },
  // Cut on one side or on both.
  { dateFrom: `${first}T14:30:00Z` },
  { dateTo: `${third}T02:00:00Z`, lineId: LINES[0] },
  { ...cut(first, third), campaignId: CAMPAIGNS[0] },
  { ...cut(first, third), userId: USERS[1] },
  cut(first, third),
  {
    dateFrom: `${first}T09:10:00Z`,
    dateTo: new Date(Date.parse(`${third}T20:00:00Z`) + LATER_MS).toISOString(),
  },
  { dateFrom: `${third}T20:00:00Z`, userId: USERS[0] },
  // An id of another kind.
  { dateFrom: second, campaignId: LINES[0] },
  { dateFrom: second, lineId: CAMPAIGNS[0] },
];

const cut = (first = '', last = ''): object => ({
  dateFrom: `${first}T14:30:00Z`,
  dateTo: new Date(Date.parse(`${last}T02:00:00Z`) + LATER_MS).toISOString(),
});

const given = (filter: object): Filter =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));

const localDay = (zone: string, at: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' }).format(at);

function within({ dateFrom, dateTo }: Filter, zone: string, at: number): boolean {
  const isBefore = (bound: string): boolean =>
    bound.length === 10 ? localDay(zone, at) < bound : at < Date.parse(bound);
  const isAfter = (bound: string): boolean =>
    bound.length === 10 ? localDay(zone, at) > bound : at > Date.parse(bound);
  return !(dateFrom && isBefore(dateFrom)) && !(dateTo && isAfter(dateTo));
}

const left = ({ status }: Outbound): boolean => status === 'sent' || status === 'delivered';
const people = (items: readonly { phone: string }[]): Set<string> => new Set(items.map(({ phone }) => phone));

function metrics(
  sent: readonly Outbound[],
  replies: readonly Inbound[],
  filter: Filter,
  zone: string,
  positive: (phone: string) => boolean,
) {
  const { lineId, campaignId, userId } = filter;
  const passes = (item: Outbound | Inbound, author: string | null | undefined): boolean =>
    within(filter, zone, item.at) &&
    (!lineId || item.lineId === lineId) &&
    (!campaignId || item.campaignId === campaignId) &&
    (!userId || author === userId);
  const out = sent.filter((message) => passes(message, message.userId));
  const authors = new Map(sent.map((message) => [message.id, message.userId]));
  const answers = replies.filter((reply) => passes(reply, authors.get(reply.answers ?? '')));
  const reached = people(out.filter(left)).size;
  const repliers = people(answers.filter(({ auto }) => !auto));
  const keen = [...repliers].filter(positive).length;
  return {
    reached,
    sent: out.filter(left).length,
    fallback: out.filter((m) => m.status === 'fallback' || m.fallbackSms === 'dispatched').length,
    failed: out.filter(({ status }) => status === 'failed').length,
    replied: answers.length,
    uniqueReplied: repliers.size,
    repliedPct: reached === 0 ? 0 : Math.min(1, repliers.size / reached),
    positiveReplied: keen,
    positivePct: repliers.size === 0 ? 0 : keen / repliers.size,
  };
}

function conversations(sent: readonly Outbound[], replies: readonly Inbound[], day: string, zone: string) {
  const today = ({ at }: { at: number }): boolean => localDay(zone, at) === day;
  const count = (items: readonly { phone: string }[], who: string): number =>
    items.filter(({ phone }) => phone === who).length;
  const out = sent.filter(
    (message) => (left(message) || message.fallbackSms === 'dispatched') && today(message),
  );
  const answers = replies.filter(today);
  return PHONES.map((phone) => [phone, count(out, phone), count(answers, phone)] as const).filter(
    ([, there, back]) => there + back > 0,
  );
}

async function store(
  workspaceId: string,
  sent: readonly Outbound[],
  replies: readonly Inbound[],
  firstReply = 0,
) {
  await withSystem(app.pools, async (db) => {
    await db.query(sql.type(NoRows)`
      insert into messages (workspace_id, id, channel, status, address, source, line_id, campaign_id, created_by_user_id,
        fallback_sms, fallback_at, scheduled_at, created_at, sent_at, error_message)
      select ${workspaceId}, id, 'imessage', case when "isLate" then 'sending' else status end, phone, 'api', "lineId",
        "campaignId", "userId", case when not "isLate" then "fallbackSms" end, t, t, t,
        case when status in ('sent', 'delivered') then t end, case when status = 'failed' then 'recipient_opted_out' end
      from jsonb_to_recordset(${sql.jsonb(sent as never)}) m (id text, phone text, at bigint, status text, "fallbackSms" text,
        "isLate" boolean, "lineId" text, "campaignId" text, "userId" text), to_timestamp(at / 1000.0) t returning null`);
    await db.query(sql.type(NoRows)`
      insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, campaign_id, original_message_id,
        auto_reply, keyword, received_at)
      select ${workspaceId}, lpad(to_hex(${firstReply}::int + position), 24, '0'), "lineId", phone, (${firstReply}::int + position)::text,
        "campaignId", answers, auto,
        case when position % 9 = 0 then 'stop' end, to_timestamp(at / 1000.0)
      from rows from (jsonb_to_recordset(${sql.jsonb(replies as never)}) as (phone text, at bigint, "lineId" text,
        "campaignId" text, auto boolean, answers text)) with ordinality r (phone, at, "lineId", "campaignId", auto, answers, position) returning null`);
  });
}

/** What remains of an erased contact. */
async function rename(workspaceId: string, address: string, to: string) {
  for (const table of ['messages', 'inbound_messages', 'conversations'])
    await systemDb(app.pools).query(sql.type(NoRows)`
      update ${sql.identifier([table])} set address = ${to} where workspace_id = ${workspaceId} and address = ${address}`);
}

/** Gives late messages their status. A message may be sent for another line than the one that was chosen first. */
async function finish(workspaceId: string, sent: readonly Outbound[]) {
  const late = sql.jsonb(sent.filter(({ isLate }) => isLate));
  await withSystem(app.pools, async (db) => {
    for (const statuses of [
      ['sent', 'failed'],
      ['delivered', 'fallback'],
    ])
      await db.query(sql.type(NoRows)`
        update messages m set fallback_sms = "fallbackSms", fallback_at = m.created_at, status = case
            when l.status = any(${sql.array(statuses, 'text')}) then l.status when l.status = 'delivered' then 'sent' else m.status end
        from jsonb_to_recordset(${late}) l (id text, status text, "fallbackSms" text)
        where m.workspace_id = ${workspaceId} and m.id = l.id
          and (l.status = any(${sql.array(statuses, 'text')}) or m.status = 'sending')`);
  });
}
