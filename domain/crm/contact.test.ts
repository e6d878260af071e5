import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeContact, type SharedFields } from './contact.ts';

const word = fc.constantFrom('', 'Ada', 'Grace', 'Lin');
const addresses = (...of: string[]) => fc.subarray(of);
const fields: fc.Arbitrary<SharedFields> = fc.record({
  firstName: word,
  lastName: word,
  companyName: word,
  jobTitle: word,
  emails: addresses('a@x.test', 'b@x.test'),
  phones: addresses('+14155550101', '+14155550102', '+14155550103'),
  contactOwnerEmail: fc.constantFrom(null, 'owner@x.test', 'other@x.test'),
});
const reachable = fields.filter(({ emails, phones }) => emails.length + phones.length > 0);
const [early, late] = [new Date('2026-01-01'), new Date('2026-01-02')];

describe('a lead and its contact', () => {
  it('stay as they are if the CRM has changed nothing', () => {
    fc.assert(
      fc.property(reachable, fields, (ours, theirs) => {
        const merged = mergeContact(
          theirs,
          { fields: ours, changedAt: early },
          { fields: theirs, changedAt: late },
        );
        expect(merged).toEqual({ fields: ours, conflicts: [] });
      }),
    );
  });

  it('take over every change that only the CRM has made', () => {
    fc.assert(
      fc.property(reachable, reachable, (base, theirs) => {
        const { fields: merged, conflicts } = mergeContact(
          base,
          { fields: base, changedAt: late },
          { fields: theirs, changedAt: early },
        );
        expect(conflicts).toEqual([]);
        const owner = theirs.contactOwnerEmail ?? base.contactOwnerEmail;
        const sorted = { ...merged, emails: merged.emails.toSorted(), phones: merged.phones.toSorted() };
        expect(sorted).toEqual({ ...theirs, contactOwnerEmail: owner });
      }),
    );
  });

  it('keep the later of two different changes, name it, agree the next time, and keep an address', () => {
    fc.assert(
      fc.property(fc.option(fields), reachable, fields, fc.boolean(), (base, ours, theirs, isCrmLater) => {
        const [here, there] = isCrmLater ? [early, late] : [late, early];
        const { fields: merged, conflicts } = mergeContact(
          base,
          { fields: ours, changedAt: here },
          { fields: theirs, changedAt: there },
        );
        expect(merged.emails.length + merged.phones.length).toBeGreaterThan(0);
        for (const { field, kept } of conflicts) {
          const name = field as keyof SharedFields;
          expect(kept).toBe(isCrmLater ? 'crm' : 'here');
          expect(ours[name]).not.toEqual(theirs[name]);
          expect(merged[name]).toEqual((isCrmLater ? theirs : ours)[name]);
        }
        const again = mergeContact(
          theirs,
          { fields: merged, changedAt: late },
          { fields: theirs, changedAt: late },
        );
        expect(again).toEqual({ fields: merged, conflicts: [] });
      }),
    );
  });
});
