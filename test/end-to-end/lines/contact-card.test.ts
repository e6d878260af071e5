import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { deleteLine } from '#db/commands/lines/line-moves.ts';
import { CountRow } from '#db/connection/rows.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspaceWithLine(app)));

const call = (method: string, path: string, body?: object) => workspace.api(method, path, body);
const path = (lineId = workspace.lineId): string => `/api/lines/${lineId}/contact-card`;
const CARD = { firstName: 'Dana', lastName: 'Line', organization: 'Lines & Co.' };

/** Waits until a message of a contact has all its effects, as what is sent later shows. */
async function hear(from: string, text: string, lineId = workspace.lineId): Promise<void> {
  await writeIn(app, { lineId, from, text });
  await eventually(async () => JSON.stringify((await call('GET', '/api/replies')).body).includes(text));
}
const cardsOf = async (from: string) => {
  const sent = await sentTo(app, from);
  return sent.flatMap(({ attachments }) => attachments);
};
const cardFor = (from: string) =>
  eventually(async () => {
    const cards = await cardsOf(from);
    return cards.length > 0 && cards;
  });

const isCard = ({ attachmentNames = [] }: { attachmentNames?: string[] }): boolean =>
  attachmentNames.includes('Dana Line.vcf');
/** What the carrier has shared with a contact. */
async function sharedWith(from: string): Promise<object[]> {
  const response = await fetch(`${app.url}/simulated/carrier/actions?to=${encodeURIComponent(from)}`);
  const { actions } = (await response.json()) as { actions: { action: object }[] };
  return actions.map(({ action }) => action);
}
/** Sends a message, before which all that was to be done to the contact is done. */
async function answered(recipientPhone: string): Promise<void> {
  const { body } = await call('POST', '/api/messages', { recipientPhone, message: 'Answered' });
  await eventually(async () => (await call('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
}

describe('the contact card of a line', () => {
  it('is shared by the carrier, once, with a contact who writes', async () => {
    const from = phone();
    expect((await call('GET', path())).body).toEqual({ success: true, contactCard: null });
    // Nobody is surprised by a line without a card.
    await hear(from, 'Before');
    const set = await call('PUT', path(), { ...CARD, photoUrl: 'https://line.example/dana.png' });
    expect(set).toMatchObject({ status: 200, body: { success: true, contactCard: CARD } });
    expect((await call('GET', path())).body).toEqual(set.body);
    expect(JSON.stringify(set.body)).not.toContain('fileId');
    await hear(from, 'After');
    const shared = await eventually(async () => {
      const actions = await sharedWith(from);
      return actions.length > 0 && actions;
    });
    expect(shared).toEqual([
      {
        kind: 'contact_card',
        firstName: 'Dana',
        lastName: 'Line',
        photoUrl: 'https://line.example/dana.png',
      },
    ]);
    await hear(from, 'Again');
    await answered(from);
    expect(await sharedWith(from)).toHaveLength(1);
    expect(await cardsOf(from)).toEqual([]);
  });

  it('is sent as a file if the carrier refuses to share it', async () => {
    // To this number, it refuses messages as well.
    const from = phone('0002');
    await call('PUT', path(), CARD);
    await hear(from, 'Hello');
    const file = await eventually(async () => {
      const { body } = await call('GET', `/api/conversations/${encodeURIComponent(from)}`);
      return body.messages.find(isCard);
    });
    expect(file).toMatchObject({ attachmentNames: ['Dana Line.vcf'] });
    expect(await sharedWith(from)).toEqual([]);
  });

  it('is sent as a file, once, where the carrier can share none, and what it says is in it', async () => {
    const from = phone();
    const sms = await createLine(app, workspace.id, 'sms');
    const set = await call('PUT', path(sms), CARD);
    await hear(from, 'After', sms);
    expect(await cardFor(from)).toEqual([
      { name: 'Dana Line.vcf', contentType: 'text/vcard', voiceNote: false },
    ]);
    await hear(from, 'Again', sms);
    await answered(from);
    expect(await cardsOf(from)).toHaveLength(1);
    expect(await sharedWith(from)).toEqual([]);

    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(from)}`);
    const file = await fetch(body.messages.find(isCard).attachmentUrls[0]);
    expect(await file.text()).toContain(`TEL;TYPE=CELL:${set.body.contactCard.phone}\r\n`);
  });

  /** What its file contains, in the conversation with a contact. */
  async function fileFor(from: string): Promise<string> {
    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(from)}`);
    return (await fetch(body.messages.find(isCard).attachmentUrls[0])).text();
  }
  const count = (query: ReturnType<typeof sql.fragment>) =>
    app.pools.system.oneFirst(sql.type(CountRow)`select count(*) from ${query}`);

  it('stays with its line when a contact who got its file is erased, until the line is deleted', async () => {
    const [gone, other] = [phone(), phone()];
    const sms = await createLine(app, workspace.id, 'sms');
    await call('PUT', path(sms), CARD);
    const { leadIds } = (await call('POST', '/api/leads', { leads: [{ phone: gone }] })).body;
    await hear(gone, 'Erase me', sms);
    await cardFor(gone);
    await answered(gone);
    expect((await call('DELETE', `/api/leads/${leadIds[0]}?erase=true`)).status).toBe(202);
    const erasures = sql.fragment`contact_erasures where workspace_id = ${workspace.id}`;
    await eventually(async () => (await count(erasures)) === 0, 60_000);
    await hear(other, 'After', sms);
    await cardFor(other);
    expect(await fileFor(other)).toContain('FN:Dana Line');

    await withTenant(app.pools, workspace.id, (db) => deleteLine(db, sms));
    const kept = sql.fragment`attachments where workspace_id = ${workspace.id} and kept_until > now()`;
    expect(await count(kept)).toBe(0);
    // As long as the carrier may fetch it.
    expect(await fileFor(other)).toContain('FN:Dana Line');
  });

  it('is shared by no line that is told not to, and with nobody who opts out', async () => {
    const [quiet, gone] = [phone(), phone()];
    await call('PUT', path(), CARD);
    await call('PATCH', `/api/lines/${workspace.lineId}`, { shareContactCard: 'never' });
    await hear(quiet, 'Hello');
    const on = await call('PATCH', `/api/lines/${workspace.lineId}`, {
      shareContactCard: 'after_first_reply',
    });
    expect(on.body.line.shareContactCard).toBe('after_first_reply');
    await hear(gone, 'STOP');
    const other = phone();
    await hear(other, 'Somebody else');
    await eventually(async () => (await sharedWith(other)).length > 0);
    const got = [cardsOf(quiet), cardsOf(gone), sharedWith(quiet), sharedWith(gone)];
    expect((await Promise.all(got)).flat()).toEqual([]);
  });

  it('is refused for a line of email, and for other names than a card can have', async () => {
    const email = await createLine(app, workspace.id, 'email');
    expect((await call('PUT', path(email), CARD)).body.code).toBe('INVALID_STATE');
    for (const wrong of [{ firstName: '' }, { photoUrl: 'http://line.example/a.png' }])
      expect((await call('PUT', path(), { ...CARD, ...wrong })).body.code).toBe('VALIDATION_ERROR');
  });
});
