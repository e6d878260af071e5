import type pg from 'pg';

const FIRST_NAMES =
  'Ada,Bruno,Carmen,Dario,Elena,Felix,Greta,Hugo,Irene,Jonas,Klara,Luca,Maria,Nora,Oskar,Paula';
const LAST_NAMES = 'Abe,Bern,Castell,Dahl,Ester,Fonta,Grim,Hall,Iver,Jans,Kauf,Lind,Mora,Nord,Olm,Peters';
const STREETS =
  'Acorn,Birch,Cedar,Daisy,Elm,Fern,Garden,Hazel,Iris,Juniper,Kiln,Linden,Maple,Nettle,Olive,Pine';

const pick = (words: string, n: string): string =>
  `(string_to_array('${words}', ','))[1 + (${n}) % ${words.split(',').length}]`;
const ADDRESS = `'+1415' || (5000000 + n)`;
const ID = `lpad(to_hex(n), 24, '0')`;
const LAST_AT = `now() - n * interval '1 minute'`;
const NAME = { first: pick(FIRST_NAMES, 'n'), last: `${pick(LAST_NAMES, 'n / 16')} || n % 250` };
const STREET = `${pick(STREETS, 'n')} || n % 500`;
/** Who has the conversation `n`, the last active first, and what it is about. Few others have the same name or street. */
export function contactOf(n: number): { firstName: string; name: string; street: string } {
  const [firstName = '', lastName = '', street = ''] = [
    [FIRST_NAMES, n],
    [LAST_NAMES, Math.floor(n / 16)],
    [STREETS, n],
  ].map(([words, number]) => String(words).split(',')[Number(number) % 16]);
  return { firstName, name: `${firstName} ${lastName}${n % 250}`, street: `${street}${n % 500}` };
}

const TURNS = 4;
const messageId = (turn: string): string => `lpad(to_hex(n), 20, '0') || lpad(to_hex(${turn}), 4, '0')`;
/** Earlier turns are days before the last one. */
const turnAt = (turn: string): string => `${LAST_AT} - ${turn} * interval '1 day'`;

const LIST = `insert into lead_lists (workspace_id, id, name) values ($1, lpad('1', 24, '0'), 'Everybody')`;
const STATEMENTS = [
  `insert into leads (workspace_id, id, list_id, first_name, last_name, emails, phones, company_name)
   select $1, ${ID}, lpad('1', 24, '0'), ${NAME.first}, ${NAME.last}, array['person' || n || '@example.com'], array[${ADDRESS}],
     'Company ' || n % 500 from generate_series(1, $3::int) n where $2::text is not null`,
  `insert into list_addresses (workspace_id, list_id, address, lead_id)
   select $1, lpad('1', 24, '0'), address, ${ID}
   from generate_series(1, $3::int) n, unnest(array[${ADDRESS}, 'person' || n || '@example.com']) address
   where $2::text is not null`,
  // One in ten was answered last, and one in fifty has tags.
  `insert into conversations (workspace_id, address, line_id, last_inbound_at, last_outbound_at, tags)
   select $1, ${ADDRESS}, $2, ${LAST_AT}, ${LAST_AT} + case when n % 10 = 0 then 1 else -60 end * interval '30 seconds',
     case when n % 50 = 0 then array['interested', 'vip'] else '{}' end
   from generate_series(1, $3::int) n`,
  `insert into inbound_messages (workspace_id, id, line_id, carrier_message_id, address, body, search_text, received_at, announced_at)
   select $1, ${messageId('turn')}, $2, n || '-' || turn, ${ADDRESS}, body, search_form(body), ${turnAt('turn')}, now()
   from generate_series(1, $3::int) n, generate_series(0, ${TURNS - 1}) turn,
     concat('Is the flat in ', ${STREET}, ' Street still free, and may I see it on Friday? I would come with my partner, after ', turn, ' p.m.') body`,
  `insert into messages (workspace_id, id, channel, status, line_id, address, lead_id, recipient_name, body, scheduled_at, sent_at,
     delivered_at, source)
   select $1, ${messageId('turn + 100')}, 'imessage', 'delivered', $2, ${ADDRESS}, ${ID}, ${NAME.first},
     'Hello ' || ${NAME.first} || ', the flat in ' || ${STREET} || ' Street is. Does ' || turn || ' o''clock suit you? Ring the bell twice.',
     sent_at, sent_at, sent_at + interval '2 seconds', 'inbox'
   from generate_series(1, $3::int) n, generate_series(0, ${TURNS - 1}) turn,
     lateral (select ${turnAt('turn')} + case when turn = 0 and n % 10 = 0 then 1 else -60 end * interval '30 seconds' sent_at) at`,
];

/** Conversations of eight messages with contacts who have names, as a sales team has them: a new message each minute. */
export async function loadInbox(
  owner: pg.Client,
  workspaceId: string,
  userId: string,
  lineId: string,
  rows: number,
): Promise<void> {
  // Skips foreign keys, which hold, and the counts of analytics.
  await owner.query('set session_replication_role = replica');
  // What came before somebody had joined counts as read.
  await owner.query(
    `update workspace_members set inbox_since = now() - interval '1 year' where user_id = $1`,
    [userId],
  );
  await owner.query(LIST, [workspaceId]);
  for (const statement of STATEMENTS) await owner.query(statement, [workspaceId, lineId, rows]);
  await owner.query('set session_replication_role = origin');
  for (const table of ['leads', 'list_addresses', 'conversations', 'inbound_messages', 'messages'])
    await owner.query(`vacuum (analyze) ${table}`);
  await owner.query('select note_workspace_sizes()');
}
