import { describe, expect, it } from 'vitest';
import { draftCard, draftVersion, readButton, type DraftForChat } from './chat.ts';

const ID = 'a'.repeat(24);
const told: DraftForChat = {
  address: '+14155550123',
  name: 'Ada Lovelace',
  question: 'Is it free?',
  source: 'copilot',
  status: 'drafted',
  draft: 'Yes.',
  confidence: 0.9,
  version: 1,
  isRetrying: false,
  isRetryFailed: false,
  approvalChannel: null,
  by: null,
  resolvedAt: null,
  sentInstead: null,
};
const open = { chatMessageId: ID, timezone: 'Europe/Berlin' };

describe('what a chat shows of a draft', () => {
  it('names the contact, what they wrote, the draft and its confidence, with buttons for this text', () => {
    const { paragraphs, buttons } = draftCard(told, open);
    expect(paragraphs).toEqual([
      'Ada Lovelace (+14155550123) wrote:',
      'Is it free?',
      'Draft (90% confident):',
      'Yes.',
      'Reply to this message to send your own text instead.',
    ]);
    expect(buttons.map(({ label, data }) => [label, readButton(data)])).toEqual([
      ['Approve', { action: 'approve', chatMessageId: ID, version: draftVersion('Yes.') }],
      ['Another', { action: 'retry', chatMessageId: ID, version: draftVersion('Yes.') }],
      ['Reject', { action: 'reject', chatMessageId: ID, version: draftVersion('Yes.') }],
    ]);
    for (const { data } of buttons) expect(Buffer.byteLength(data)).toBeLessThanOrEqual(64);
    expect(readButton('approve:x:y')).toBeNull();
  });

  it('offers nothing to approve that it does not show as a whole', () => {
    const { paragraphs, buttons } = draftCard({ ...told, draft: 'x'.repeat(2501) }, open);
    expect(buttons.map(({ label }) => label)).toEqual(['Another', 'Reject']);
    expect(paragraphs.join('\n\n').length).toBeLessThan(4096);
  });

  it.each<[Partial<DraftForChat>, string]>([
    [{ version: 2 }, 'Draft, version 2 (90% confident):'],
    [{ isRetrying: true }, 'Another version is being written.'],
    [{ version: 2, isRetryFailed: true }, 'Another version could not be written.'],
  ])('says what became of other versions: %o', (state, says) => {
    expect(draftCard({ ...told, ...state }, open).paragraphs).toContain(says);
  });

  it.each<Partial<DraftForChat>>([{ isRetrying: true }, { version: 5 }, { source: 'api' }])(
    'offers no other version where there can be none: %o',
    (state) => {
      const { buttons } = draftCard({ ...told, ...state }, open);
      expect(buttons.map(({ label }) => label)).toEqual(['Approve', 'Reject']);
    },
  );

  it.each([
    [
      { status: 'approved', by: 'Grace', approvalChannel: 'chat_app' },
      'Approved by Grace in a chat, Mar 2, 2026, 1:00 PM.',
    ],
    [
      { status: 'approved', by: 'Grace', approvalChannel: 'chat_app_edit', sentInstead: 'No.' },
      'Answered by Grace in a chat, Mar 2, 2026, 1:00 PM, with another text:',
    ],
    [
      { status: 'rejected', by: 'a program', approvalChannel: 'api' },
      'Rejected by a program through the API, Mar 2, 2026, 1:00 PM.',
    ],
    [
      { status: 'claimed', by: 'Grace', approvalChannel: 'dashboard' },
      'Answered in another way by Grace in the console or by email, Mar 2, 2026, 1:00 PM.',
    ],
    [
      { status: 'approved', by: 'operator Dana', approvalChannel: 'dashboard' },
      'Approved by operator Dana, Mar 2, 2026, 1:00 PM.',
    ],
  ] as const)('says who decided, where and when: %j', (decision, text) => {
    const decided = { ...told, ...decision, resolvedAt: new Date('2026-03-02T12:00:00Z') };
    const { paragraphs, buttons } = draftCard(decided, open);
    expect(paragraphs.map((paragraph) => paragraph.replaceAll('\u202F', ' '))).toContain(text);
    expect(buttons).toEqual([]);
  });

  it('shows nothing of an erased contact, and no buttons in a chat that is not linked', () => {
    expect(draftCard({ ...told, address: 'erased:1' }, open).paragraphs).toEqual(['The contact was erased.']);
    expect(draftCard(told, { ...open, chatMessageId: null }).buttons).toEqual([]);
    expect(draftCard({ ...told, draft: null, status: 'waiting' }, open).buttons).toEqual([]);
  });
});
