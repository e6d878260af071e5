import { describe, expect, it } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { isOutOfOffice, returnsAt, withoutDay } from './out-of-office.ts';

/** A Thursday. */
const NOW = new Date('2026-12-10T14:00:00Z');
const HERE = { timezone: 'Europe/Berlin', now: NOW };
const dayOf = (text: string, country = 'DE'): string =>
  (returnsAt(text, { ...HERE, country }) ?? withoutDay(HERE)).toISOString();

describe('an automatic reply of somebody who is away', () => {
  it.each([
    ['I am out of the office until December 21st.', '2026-12-21'],
    ['I will be on vacation from 12 Dec 2026 to 2 January 2027, and back after that.', '2027-01-02'],
    ['OOO until 2026-12-18', '2026-12-18'],
    ['I am away and will return on Monday.', '2026-12-14'],
    ['Ich bin bis einschließlich 23.12.2026 im Urlaub.', '2026-12-23'],
    ['Abwesend vom 10.12. bis 4.1.', '2027-01-04'],
    ['Ich bin nicht im Büro und ab dem 15. Dezember wieder erreichbar.', '2026-12-15'],
    ['Ik ben afwezig tot en met 18 december 2026.', '2026-12-18'],
    ['Je suis absente jusqu’au 1er janvier 2027.', '2027-01-01'],
    ['Je suis en congés, de retour le lundi 21 décembre.', '2026-12-21'],
    ['Estoy fuera de la oficina hasta el 3 de enero de 2027.', '2027-01-03'],
    ['Estou de férias até 28/12/2026.', '2026-12-28'],
    ['Sono in ferie fino al 7 gennaio.', '2027-01-07'],
    ['Jag är på semester till den 20 december.', '2026-12-20'],
    ['Jeg er på ferie til 22. december.', '2026-12-22'],
    ['Jestem na urlopie do 19 grudnia 2026.', '2026-12-19'],
    ['I am on leave.', '2026-12-17'],
    ['I am on leave. Our hours are 9-5, Monday to Friday 9am to 5pm.', '2026-12-17'],
    ['Ik ben afwezig tot 18-12.', '2026-12-18'],
    ['Out of the office until 18-12.', '2026-12-18'],
    ['I was out of office on December 1st.', '2026-12-17'],
    ['I am on parental leave until 1 July 2027.', '2027-02-08'],
    ['Ich bin im Urlaub bis 31.2.2027.', '2026-12-17'],
    ['Out of office Dec 14-21', '2026-12-21'],
    ['OOO December 14th – 21st, 2026.', '2026-12-21'],
    ['Out of office until 21-Dec-2026', '2026-12-21'],
    ['I am on vacation until the 21st.', '2026-12-21'],
    ['I am on leave until the 4th.', '2027-01-04'],
    ['I am on leave until the 99th.', '2027-02-08'],
    ['I am on vacation for two weeks.', '2026-12-24'],
    ['I will be back on 21 December.', '2026-12-21'],
    ['Returning December 21', '2026-12-21'],
    ["Thanks for your mail of Nov 12. I'm out until the 21st of December.", '2026-12-21'],
    ['I am out from December 11 through December 18.', '2026-12-18'],
    ["I'm out until next Monday.", '2026-12-14'],
    ['Our shop is closed until 21 December.', '2026-12-21'],
    ['I am out today and will be back tomorrow.', '2026-12-11'],
    ["I'll be back in two weeks.", '2026-12-24'],
    ['OOO, back in 3 days', '2026-12-13'],
    ['Back on Monday!', '2026-12-14'],
    ['I will be back next week.', '2026-12-14'],
    ['Guten Morgen, ich bin ab Montag wieder da.', '2026-12-14'],
    ['Ab dem 21. Dezember bin ich wieder erreichbar.', '2026-12-21'],
    ['Ich bin nächste Woche wieder zurück.', '2026-12-14'],
    ['Ich bin in drei Tagen zurück.', '2026-12-13'],
    ['Je serai de retour lundi.', '2026-12-14'],
    ['Je serai de retour le 21/12.', '2026-12-21'],
    ['Vuelvo el lunes 21 de diciembre.', '2026-12-21'],
    ['Estaré de vuelta la próxima semana.', '2026-12-14'],
    ['Regresso no dia 21/12.', '2026-12-21'],
    ['Volto na segunda-feira.', '2026-12-14'],
    ['Rientro il 21 dicembre.', '2026-12-21'],
    ['Torno domani.', '2026-12-11'],
    ['Ik ben vanaf 21 december weer bereikbaar.', '2026-12-21'],
    ['Ik ben over twee weken terug.', '2026-12-24'],
    ['Jag är tillbaka på måndag.', '2026-12-14'],
    ['Jeg er tilbage den 21. december.', '2026-12-21'],
    ['Wracam w poniedziałek.', '2026-12-14'],
  ])('%j: until %s', (text, day) => {
    expect(isOutOfOffice(text)).toBe(true);
    expect(dayOf(text)).toBe(`${day}T08:00:00.000Z`);
  });

  it('reads dates as the country writes them', () => {
    const text = 'I am out of the office and back on 1/2/2027.';
    expect(dayOf(text, 'US').slice(0, 10)).toBe('2027-01-02');
    expect(dayOf(text, 'GB').slice(0, 10)).toBe('2027-02-01');
  });

  it.each([
    'We have received your message and answer within two days.',
    "I'm driving right now. I'll get back to you later.",
    'Your ticket 2026-12-24 was opened.',
    'We will get back to you by Monday, December 14.',
    'Returns are accepted until 24 December.',
    'Our office is open Monday to Friday.',
    'Wir melden uns bis Montag bei Ihnen.',
    'I’ll be right back.',
    'You can return it until 24 December.',
    'We are closed. Our hours are 9-5, Monday to Friday 9am to 5pm.',
    'We are closed now and answer 24/7 by email.',
    'Wir sind nicht erreichbar. Montag bis Freitag 9-17 Uhr.',
    'We call you back on Monday.',
    'Your parcel goes out on Monday.',
    'Wir rufen Sie am Montag zurück.',
    'Frais de retour offerts jusqu’au 24 décembre.',
  ])('is told from other automatic replies: %j', (text) => expect(isOutOfOffice(text)).toBe(false));

  it('is read in linear time', () => {
    for (const unit of ['1.', '1/1', 'dec ', '1 of ', '2026-', 'back ', 'be back on ', 'in two ', 'until '])
      expect(
        growth(
          (length) => unit.repeat(length / unit.length),
          (text) => [isOutOfOffice(text), dayOf(text)],
          4000,
        ),
      ).toBeLessThan(LINEAR);
  });
});
