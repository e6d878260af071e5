import { describe, expect, it } from 'vitest';
import { complainsInReason, complainsInText, complaintReason, isComplaint } from './complaint.ts';

describe('a complaint', () => {
  it.each([
    'SPAM!',
    'This is a scam. Who are you?',
    'Blocked!',
    'Je vais vous signaler',
    'I will report you',
    'You have been reported',
    'You are blocked!',
    'Marking this as junk',
    'Bloqueado',
    'Bloqué !',
    'Vi segnalo',
    'Ik ga u melden',
    'Ich habe Sie blockiert',
    'Blocking this number',
    'Das ist Belästigung',
    'C’est une arnaque',
    'Te voy a denunciar',
    'È una truffa',
    'Isso é assédio',
  ])('is heard in %s', (text) => expect(complainsInText(text)).toBe(true));

  it.each([
    'Gladly, on Thursday',
    'I saw the report of yours',
    'My calendar is blocked on Monday',
    'Meet me two blocks away',
    'Please stop',
    'Do you have spam filters?',
    'Is this spam?',
    'My calendar is blocked.',
    'It went to my spam folder',
    'Your mail was in spam, sorry',
    'Ihr Spamfilter hat meine Mail blockiert',
    'I reported the leak to the landlord',
    'My account is blocked, can you help?',
  ])('is not heard in %s', (text) => expect(complainsInText(text)).toBe(false));

  it('that was reported is told from other failures', () => {
    expect(isComplaint(complaintReason('abuse'))).toBe(true);
    for (const reason of ['bounced: 550 abuse', 'recipient_opted_out', '30007: Message filtered'])
      expect(isComplaint(reason), reason).toBe(false);
  });

  it('is a reason of a carrier that tells of spam or a block, and no other', () => {
    for (const reason of ['30007: Message filtered', '550 5.7.1 rejected as spam', '550-5.7.28 unusual rate'])
      expect(complainsInReason(reason), reason).toBe(true);
    for (const reason of ['30003: Unreachable', '550 5.1.1 No such user', 'not_registered', 'undeliverable'])
      expect(complainsInReason(reason), reason).toBe(false);
  });
});
