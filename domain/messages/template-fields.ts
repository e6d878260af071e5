import { editDistance } from '../base/edit-distance.ts';
import { typedName } from '../base/text.ts';
import { type TemplateBudget, templateNames } from './template.ts';

/** A name in a template that no lead can have, so that it is always empty. */
export interface UnknownField {
  name: string;
  /** The field that was probably meant; null: none is like it. */
  suggestion: string | null;
}

/** The fields of a lead, and those by which other programs call them. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  firstName: ['givenname', 'fname', 'vorname', 'nombre', 'prenom', 'name'],
  lastName: ['surname', 'familyname', 'lname', 'nachname', 'apellido'],
  email: ['mail', 'emailaddress'],
  phone: ['mobile', 'telephone', 'phonenumber', 'cell'],
  companyName: ['company', 'organization', 'organisation', 'firma'],
  jobTitle: ['title', 'position', 'role'],
  notes: [],
  contactOwnerEmail: ['owner', 'owneremail'],
  timezone: [],
};
const CUSTOM = 'customFields';

/** More are not reported, and longer names not compared: both come from tenants. */
const MAX_REPORTED = 10;
const MAX_NAME = 100;

/**
 * The names of a template that no lead can have.
 * @param customFields the names of the workspace's custom fields; null: not known, so none of them is judged.
 */
export function unknownFields(text: string, customFields: readonly string[] | null): UnknownField[] {
  const names = new Set(
    templateNames(text).flatMap(([first, second]) => {
      if (first === undefined) return [];
      if (first !== CUSTOM) return Object.hasOwn(FIELDS, first) ? [] : first;
      const isKnown =
        second === undefined ||
        customFields === null ||
        customFields.some((name) => typedName(name) === second);
      return isKnown ? [] : `${CUSTOM}.${second}`;
    }),
  );
  return [...names].slice(0, MAX_REPORTED).map((name) => ({
    name: name.slice(0, MAX_NAME),
    suggestion: closest(name, customFields ?? []),
  }));
}

/** Whether a template names custom fields, so that only who knows those of the workspace can judge it. */
export const readsCustomFields = (text: string): boolean =>
  text.includes(CUSTOM) && templateNames(text).some(([first]) => first === CUSTOM);

/** For a person. */
export const unknownFieldText = ({ name, suggestion }: UnknownField): string =>
  `No contact has a field ${name}, so it is always empty.${suggestion === null ? '' : ` Do you mean ${suggestion}?`}`;

/** The fields of a lead that a template reads, such as `firstName` or `customFields.city`. */
export const fieldsRead = (text: string, budget?: TemplateBudget): string[] =>
  templateNames(text, budget).flatMap(([first, second]) => {
    if (first === undefined) return [];
    return first === CUSTOM && second !== undefined ? `${CUSTOM}.${second}` : first;
  });

/** `first_name`, `First Name` and `firstName` are the same. */
const plain = (name: string): string => name.replaceAll(/[^\p{L}\p{N}]/gu, '').toLowerCase();

function closest(name: string, customFields: readonly string[]): string | null {
  const wanted = plain(name.replace(/^customFields\./, ''));
  if (wanted === '' || wanted.length > MAX_NAME) return null;
  const candidates = [
    ...Object.entries(FIELDS).flatMap(([field, others]) =>
      [field, ...others].map((called) => [called, field] as const),
    ),
    ...customFields.map((field) => [field, `${CUSTOM}.${field}`] as const),
  ];
  const [best] = candidates
    .filter(([called]) => Math.abs(called.length - wanted.length) <= 4)
    .map(([called, field]) => ({ field, distance: editDistance(wanted, plain(called)) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.field : null;
}
