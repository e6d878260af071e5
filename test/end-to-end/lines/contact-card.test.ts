import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
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

describe('the contact card of a line', () => {
  it('is sent as a file, once, to a contact who writes, and what it says is in it', async () => {
    const from = phone();
    expect((await call('GET', path())).body).toEqual({ success: true, contactCard: null });
    // Nobody is surprised by a line without a card.
    await hear(from, 'Before');
    const set = await call('PUT', path(), CARD);
    expect(set).toMatchObject({ status: 200, body: { success: true, contactCard: CARD } });
    expect((await call('GET', path())).body).toEqual(set.body);
    expect(JSON.stringify(set.body)).not.toContain('fileId');
    await hear(from, 'After');
    expect(await cardFor(from)).toEqual([
      { name: 'Dana Line.vcf', contentType: 'text/vcard', voiceNote: false },
    ]);
    await hear(from, 'Again');
    const answer = await call('POST', '/api/messages', { recipientPhone: from, message: 'Answered' });
    await eventually(
      async () => (await call('GET', `/api/messages/${answer.body._id}`)).body.status === 'delivered',
    );
    expect(await cardsOf(from)).toHaveLength(1);

    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(from)}`);
    const shown = body.messages.find(({ attachmentNames = [] }: { attachmentNames?: string[] }) =>
      attachmentNames.includes('Dana Line.vcf'),
    );
    const file = await fetch(shown.attachmentUrls[0]);
    expect(await file.text()).toContain(`TEL;TYPE=CELL:${set.body.contactCard.phone}\r\n`);
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
    await cardFor(other);
    expect([...(await cardsOf(quiet)), ...(await cardsOf(gone))]).toEqual([]);
  });

  it('is refused for a line of email, and for other names than a card can have', async () => {
    const email = await createLine(app, workspace.id, 'email');
    expect((await call('PUT', path(email), CARD)).body.code).toBe('INVALID_STATE');
    for (const wrong of [{ firstName: '' }, { photoUrl: 'http://line.example/a.png' }])
      expect((await call('PUT', path(), { ...CARD, ...wrong })).body.code).toBe('VALIDATION_ERROR');
  });
});
