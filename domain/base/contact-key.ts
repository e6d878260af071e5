/** A form of numbers, and the one that stands for it. */
type Rule = readonly [form: RegExp, key: string];

/**
 * The forms in which carriers report a number besides the one that was written to, each with the form that identifies the
 * contact. `contact_key` in the database does the same.
 */
const RULES: readonly Rule[] = [
  // Mexico: the digit 1 of mobile numbers was abolished in 2019, and some carriers still add it.
  [/^\+521(\d{10})$/, '+52$1'],
  // Argentina: the digit 9 of mobile numbers. A number is either a mobile or a fixed one, whatever the digit says.
  [/^\+54([1-3]\d{9})$/, '+549$1'],
  // Brazil: the ninth digit of mobile numbers, added from 2012 to 2016. Fixed numbers begin with 2 to 5.
  [/^\+55([1-9]{2})([6-9]\d{7})$/, '+55$19$2'],
  // Ivory Coast: two digits for the operator since 2021, mobile by the second digit, fixed by the third.
  [/^\+225([04-9][0-3]\d{6})$/, '+22501$1'],
  [/^\+225([04-9][4-6]\d{6})$/, '+22505$1'],
  [/^\+225([04-9][7-9]\d{6})$/, '+22507$1'],
  [/^\+225(2\d8\d{5})$/, '+22521$1'],
  [/^\+225([23]\d0\d{5})$/, '+22525$1'],
  [/^\+225([23]\d{7})$/, '+22527$1'],
  // Benin: 01 before each number since 2024.
  [/^\+229([2-9]\d{7})$/, '+22901$1'],
  // Cameroon: 6 before each mobile number since 2014.
  [/^\+237([579]\d{7})$/, '+2376$1'],
  // Vietnam: mobile numbers of eleven digits lost one in 2018.
  [/^\+8416([2-9]\d{7})$/, '+843$1'],
  [/^\+84120(\d{7})$/, '+8470$1'],
  [/^\+84121(\d{7})$/, '+8479$1'],
  [/^\+84122(\d{7})$/, '+8477$1'],
  [/^\+84126(\d{7})$/, '+8476$1'],
  [/^\+84128(\d{7})$/, '+8478$1'],
  [/^\+84123(\d{7})$/, '+8483$1'],
  [/^\+84124(\d{7})$/, '+8484$1'],
  [/^\+84125(\d{7})$/, '+8485$1'],
  [/^\+84127(\d{7})$/, '+8481$1'],
  [/^\+84129(\d{7})$/, '+8482$1'],
  [/^\+84186(\d{7})$/, '+8456$1'],
  [/^\+84188(\d{7})$/, '+8458$1'],
  [/^\+84199(\d{7})$/, '+8459$1'],
  // Palestinian mobile numbers are reached by the calling code of Israel as well.
  [/^\+972(5[69]\d{7})$/, '+970$1'],
];

/** The calling codes of the rules, so that nearly all addresses are compared with them only. */
const CALLING_CODE = /^\+(?:5[245]|22[59]|237|84|972)/;

/**
 * The address by which a contact is known: the same for all forms of a phone number, whichever a carrier reports. Only to find
 * and compare contacts: a carrier is called with the number as it was written.
 * @param address an email address, a number in E.164 form, or a sender that is neither.
 */
export function contactKey(address: string): string {
  if (!CALLING_CODE.test(address)) return address;
  const rule = RULES.find(([form]) => form.test(address));
  return rule ? address.replace(rule[0], rule[1]) : address;
}

/** What the rules add to a form; each is a candidate, which `contactKey` confirms. */
const FORMS: readonly Rule[] = [
  [/^\+52(\d{10})$/, '+521$1'],
  [/^\+549(\d{10})$/, '+54$1'],
  [/^\+55(\d{2})9(\d{8})$/, '+55$1$2'],
  [/^\+225\d\d(\d{8})$/, '+225$1'],
  [/^\+22901(\d{8})$/, '+229$1'],
  [/^\+2376(\d{8})$/, '+237$1'],
  [/^\+843(\d{8})$/, '+8416$1'],
  ...['120', '121', '122', '126', '128', '123', '124', '125', '127', '129', '186', '188', '199'].map(
    (former): Rule => [/^\+84\d\d(\d{7})$/, `+84${former}$1`],
  ),
  [/^\+970(5[69]\d{7})$/, '+972$1'],
];

/** All forms of an address, its key first. Most have one. */
export function formsOf(address: string): string[] {
  const key = contactKey(address);
  if (!CALLING_CODE.test(key) && !key.startsWith('+970')) return [key];
  const others = FORMS.filter(([form]) => form.test(key)).map(([form, other]) => key.replace(form, other));
  return [key, ...others.filter((other) => contactKey(other) === key)];
}

/**
 * The number with which a carrier is called for a message.
 * @param address the key of the contact, or an email address.
 * @param written the number as it was written, if the message has one.
 */
export const dialled = (address: string, written: string | null): string =>
  written !== null && contactKey(written) === address ? written : address;
