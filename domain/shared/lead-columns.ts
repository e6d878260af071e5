import { normalize, withoutInvisible } from '../base/text.ts';

/** What a column of a CSV file can be: a field of leads, or `fullName`, of which first and last name are made. */
export const COLUMN_FIELDS = [
  'firstName',
  'lastName',
  'fullName',
  'email',
  'phone',
  'companyName',
  'jobTitle',
  'notes',
  'contactOwnerEmail',
  'timezone',
  'consentSource',
  'consentAt',
] as const;
export type ColumnField = (typeof COLUMN_FIELDS)[number];

/**
 * Known column names as letters alone (`E-Mail 2` is `email`), in English, German, French, Spanish, Portuguese, Italian, Dutch,
 * Danish, Swedish and Polish, and as Google Contacts, Outlook, HubSpot and Salesforce export them. A name with accents is known without them as well.
 */
const NAMES: Record<ColumnField, string> = {
  firstName:
    'firstname first givenname forename fname vorname rufname prénom prénoms nombre nombres nombredepila primernombre nome primeironome nomepróprio voornaam roepnaam fornavn förnamn imię 名 имя',
  lastName:
    'lastname last surname familyname lname nachname familienname zuname nom nomdefamille apellido apellidos primerapellido sobrenome apelido últimonome cognome achternaam familienaam efternavn efternamn nazwisko namenachname 姓 фамилия',
  fullName:
    'fullname name contactname displayname vollständigername vorundnachname ansprechpartner nomcomplet nometprénom prénometnom nombrecompleto nombreyapellidos nomecompleto nomeecognome volledigenaam naam navn namn imięinazwisko kontakt 氏名 お名前 姓名 фио',
  email:
    'email emails emailaddress emailaddresses mail mailaddress emailvalue emailwork emailhome emailpersonal emailbusiness primaryemail workemail businessemail personalemail homeemail otheremail contactemail emailadresse mailadresse courriel adresseemail adressemail adressecourriel adresseélectronique correo correoelectrónico correoelectronico direccióndecorreo direccióndecorreoelectrónico direccióndeemail correioeletrónico correioeletrônico endereçodeemail endereçodecorreioeletrónico indirizzoemail indirizzomail postaelettronica indirizzodipostaelettronica emailadres mailadres epost epostadress epostadresse mailadresse adresemail secondaryemail emailgeschäftlich emailprivat adressedemessagerie indirizzopostaelettronica メールアドレス メール 邮箱 電子郵件 电子邮件 电子邮箱 элпочта почта электроннаяпочта',
  phone:
    'phone phones phonenumber phonenumbers phoneno phonevalue phonemobile phonework phonehome companymainphone mainphone contactno mobileno whatsapp whatsappnumber telephone telephonenumber tel mobile mobilephone mobilenumber mobilephonenumber cell cellphone cellnumber cellphonenumber workphone businessphone homephone otherphone primaryphone contactphone contactnumber telefon telefonnummer telefonnr telefongeschäftlich telefonprivat telefonmobil telefonnummerprivat telefonnummergeschäftlich telefonnummermobil festnetz festnetznummer rufnummer handy handynummer handynr mobil mobilnummer mobiltelefon mobilfunk mobilfunknummer téléphone tél téléphonemobile téléphoneportable téléphoneprofessionnel téléphoneprincipal téléphonedomicile numérodetéléphone ndetéléphone numérodemobile numérodeportable portable teléfono teléfonos teléfonomóvil teléfonocelular teléfonotrabajo teléfonoparticular númerodeteléfono nºdeteléfono númerodemóvil móvil celular telefone telefonecelular telefonemóvel telemóvel númerodetelefone númerodecelular númerodetelemóvel telefono telefonocellulare telefonoprincipale numeroditelefono numerodicellulare cellulare telefoon telefoonnummer telefoonmobiel mobiel mobielnummer mobieletelefoon gsm gsmnummer mobilnummer mobiltelefon numertelefonu telefonkomórkowy komórka iphone telmobil telmobile téléphonebureau téléphonedutravail teléfonodeltrabajo telefonecomercial telefoneresidencial telefonodellavoro telefoonopwerk telefoonthuis nrtelefonu smsnumber smsphone textremindernumber tlf tlfnr mobilnr mobiltelefonnummer mobilnummer 電話番号 電話 携帯電話 携帯番号 电话 手机 手机号 手机号码 телефон мобильныйтелефон номертелефона',
  companyName:
    'company companyname organization organizationname organisation organisationname accountname businessname associatedcompany employer firma firmenname unternehmen société nomdelasociété entreprise nomdelentreprise empresa nombredelaempresa compañía organización nomedaempresa organização azienda società nomeazienda organizzazione bedrijf bedrijfsnaam organisatie virksomhed firmanavn företag företagsnamn firmanazwa nazwafirmy defaultaddresscompany 会社名 公司 公司名称 компания',
  jobTitle:
    'jobtitle title organizationtitle position jobposition role berufsbezeichnung funktion stellenbezeichnung poste fonction intituléduposte cargo puesto função ruolo qualifica mansione functie functietitel functienaam stilling befattning stanowisko titre posizione titel 役職 职位 职务 должность',
  notes:
    'notes note comment comments remark remarks notiz notizen bemerkung bemerkungen anmerkung anmerkungen kommentar kommentare remarque remarques commentaire commentaires nota notas comentario comentarios observaciones observação observações comentário comentários commento commenti osservazioni opmerking opmerkingen notitie notities uwagi noter anteckning anteckningar 備考 备注 примечание комментарий',
  contactOwnerEmail: 'contactowneremail owneremail',
  timezone: 'timezone zeitzone fuseauhoraire zonahoraria husohorario fusohorário fusoorario tijdzone',
  consentSource: 'consentsource',
  consentAt: 'consentat consentdate',
};

/** Longer names are of no field. */
const MAX_NAME = 200;

/** The letters of a name, without case. A column may be called `constructor`, which a Map knows nothing of. */
const lettersOf = (name: string): string =>
  normalize(name, 'NFC', MAX_NAME).toLowerCase().replaceAll(/\P{L}/gu, '');

const plain = (name: string): string =>
  normalize(name, 'NFD', MAX_NAME).replaceAll(/\p{M}/gu, '').replaceAll('ł', 'l');

const FIELD_BY_NAME: ReadonlyMap<string, ColumnField> = new Map(
  Object.entries(NAMES).flatMap(([field, names]) =>
    names
      .split(' ')
      .flatMap((name) => [name, plain(name)].map((known) => [known, field as ColumnField] as const)),
  ),
);

/** As templates name custom fields. */
const CUSTOM = /^customFields\./i;

/** The name of the custom field that a column is. */
export const customFieldName = (column: string): string => column.replace(CUSTOM, '');

/** Whose address it is, before the name in exports: `billing_phone`, `Person - Email - Work`, `Invitee Name`. */
const OWNER =
  /^(?:person|contact|customer|client|lead|invitee|attendee|your|billing|primary|secondary|defaultaddress)/;
/** Of which kind it is, behind the name. */
const KIND = /(?:work|home|mobile|cell|business|personal|office|main|other)$/;

const knownField = (letters: string): ColumnField | undefined => FIELD_BY_NAME.get(letters);

/** What forms write behind the name: `Email (required)`. */
const REMARK =
  /\s*[([](?:required|optional|mandatory|pflichtfeld|optionnel|obligatoire|obligatorio|opcional|obrigat[óo]rio|obbligatorio|facoltativo|verplicht|optioneel)[)\]]\s*$/iu;

/** The field that a column is, by its name; null for a custom field. */
export function columnField(column: string): ColumnField | null {
  if (CUSTOM.test(column)) return null;
  const letters = lettersOf(column.slice(0, MAX_NAME).replace(REMARK, ''));
  const name = letters.replace(OWNER, '');
  return knownField(letters) ?? knownField(name) ?? addressField(knownField(name.replace(KIND, ''))) ?? null;
}

const addressField = (field: ColumnField | undefined): ColumnField | undefined =>
  field === 'email' || field === 'phone' ? field : undefined;

/** What people, spreadsheets and exports write into a cell that has no address, in the languages of the column names. */
const NO_ADDRESS =
  /^(?:n\.?[/.]?a\.?|none|null|nil|nan|undefined|unknown|not (?:provided|available|applicable|given)|no (?:phone|email|e-mail|number)|tb[ad]|blank|empty|no|x+|0+(?:[.,]0+)?|keine?|unbekannt|k\.? ?a\.?|aucune?|inconnue?|ningun[oa]|no tiene|desconocid[oa]|nenhuma?|s\/n|sin (?:tel[eé]fono|correo|email|e-mail|n[uú]mero)|desconhecid[oa]|nessun[oa]|sconosciut[oa]|geen|onbekend|leer|nicht (?:vorhanden|angegeben|bekannt)|n\. ?d\.?|n\.?v\.?t\.?|pas de (?:t[eé]l[eé]phone|mail|num[eé]ro)|non renseign[eé]e?|sin datos|no (?:disponible|aplica|informado)|n[aã]o (?:informado|tem|dispon[ií]vel)|non (?:disponibile|presente)|ingen|inget|brak|nie dotyczy|no ?e-?mail|no ?phone|なし|無し|无|無|нет|#[\p{L}/]{2,8}[!?]?|\\N|[-–—_.?*/]+)$/iu;

/** `Ada <ada@example.com>` */
const NAMED_ADDRESS = /^[^<>]*<([^<>\s@]+@[^<>\s@]+)>$/;

/** `mailto:ada@example.com`, `* ada@example.com` as Google marks the primary one, `Ada <ada@example.com>`. */
const bare = (part: string): string =>
  withoutInvisible(part)
    .trim()
    .replace(/^\*\s+/, '')
    .replace(/^mailto:/i, '')
    .replace(NAMED_ADDRESS, '$1');

/** A longer text says more than that there is no address, or is no number. The patterns below are not linear. */
const MAX_SHORT = 200;

/** `(none)`, `[n/a]`. */
const isNone = (text: string): boolean =>
  text.length <= MAX_SHORT && NO_ADDRESS.test(text.trim().replace(/^[([<](.*)[)\]>]$/, '$1'));

/** Several email addresses without another separator: `ada@example.com or a@example.com`. */
function withoutSpaces(part: string): string[] {
  const emails = part.split(/[\s<>]+/).filter((word) => {
    const at = word.lastIndexOf('@');
    return at > 0 && at < word.length - 1;
  });
  return emails.length > 1 ? emails : [part];
}

/** Several numbers between words or without spaces: `415-555-0123 or 415-555-0124`. Many write one number with a slash. */
function withoutWords(part: string): string[] {
  if (part.length > MAX_SHORT) return [part];
  const numbers = part.split(/\s+(?:or|and|&|oder|und|ou|et|o|y|e|en|of)\s+|\//i);
  const areWhole = numbers.every((number) => (number.match(/\p{Nd}/gu)?.length ?? 0) >= MIN_DIGITS);
  return areWhole ? numbers : [part];
}
/** Of a number without its area code. */
const MIN_DIGITS = 7;

/** More than a lead has; with so many, it is refused. */
const MAX_PARTS = 1000;

/**
 * The addresses in a cell, which separates several by `;`, `,`, `|`, ` / `, lines or, as Google Contacts, ` ::: `; emails also by spaces,
 * numbers by a `/` or a word such as `or` between whole ones.
 */
export const addressesIn = (cell: string): string[] =>
  cell.length <= MAX_SHORT && isNone(cell.replaceAll(/\s*\/\s*/g, '/'))
    ? []
    : cell
        .split(/:::|[;,|\n\r\u2028\u2029]|\s\/\s|\/(?=\s*\+)/, MAX_PARTS)
        .flatMap(withoutSpaces)
        .flatMap((part) => (part.includes('@') ? part : withoutWords(part)))
        .map(bare)
        .filter((part) => part !== '' && !isNone(part));
